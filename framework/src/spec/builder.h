// Builds the Node tree from yaml-cpp's events. Its node interface would hide duplicate keys, quotes, tags and cycles.
#pragma once
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "spec/node.h"
#include "spec/source.h"

namespace headwright::spec {

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const Source& source) : source_(source) {}

  /// The tree, or nothing where the text holds no value. Throws ConfigError with every problem met.
  std::optional<Node> finish();

  /// Throws what was met so far, then this one.
  [[noreturn]] void fail(std::size_t at, std::string message);

  /// Fails if the text around the last event is within a [ or { that is never closed: yaml-cpp meets other things
  /// first.
  void check_brackets();

  /// Byte of the last event.
  std::size_t reached() const { return reached_; }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { close(); }

 private:
  /// A node with what an alias to it would cost.
  struct Built {
    Node node;
    std::size_t nodes = 1, depth = 1;
  };
  /// A list or map that is being read.
  struct Open {
    Built built;
    std::size_t at = 0;
    YAML::anchor_t anchor = 0;
    std::size_t colon = 0;                         // of the key that came last
    std::optional<Entry> pending;                  // a map's key that waits for its value
    std::unordered_map<std::string, int> lines{};  // of a map's keys
  };

  [[noreturn]] void misplaced(std::size_t at, const std::string& message);
  std::size_t begin(const YAML::Mark& mark);
  bool key_is_next() const;
  void key(std::size_t at, const std::string& text, bool quoted);
  std::size_t find_colon(std::size_t at, std::size_t end, const std::string& key);
  std::size_t place_of_nothing(std::size_t next) const;
  void open(Node::Type type, const YAML::Mark& mark, YAML::anchor_t anchor);
  void close();
  void add(Built built, std::size_t at, YAML::anchor_t anchor);
  void count(std::size_t nodes, std::size_t at);
  void note(std::size_t at, std::string message, const std::string& key = {});
  std::string path() const;

  const Source& source_;
  std::vector<Open> stack_;
  std::unordered_map<YAML::anchor_t, Built> anchors_;
  std::optional<Node> root_;
  std::vector<Problem> problems_;
  std::size_t nodes_ = 0, documents_ = 0, reached_ = 0;
};

}  // namespace headwright::spec
