// Name -> VariantSpec. Finds plugin libraries, lets a child process try those it has not seen, loads what is asked for.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/variant.h"

namespace headwright::registry {

/// A library that is not used, and why.
struct Refusal {
  std::string file, reason;
};

/// A variant that some library provides; the library itself may not be loaded yet.
struct Provided {
  std::string name;
  Kind kind;
  std::string file;
};

struct Options {
  std::vector<std::filesystem::path> search_path;        // folders (all *.so in them) or single libraries, first wins nothing:
                                                         // two libraries that claim one name are an error
  std::filesystem::path probe;                           // the executable that tries unseen libraries
  std::optional<std::filesystem::path> cache_folder;     // for verdicts; none = every library is tried each time
};

class Registry {
 public:
  /// Scans the search path. A broken library is refused, never fatal. Throws PluginError where two libraries claim a
  /// name (naming both files) or where a folder that was named does not exist.
  explicit Registry(Options options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The variant called `name`, its library loaded; null if no library provides it. Lives as long as the process.
  const VariantSpec* find(std::string_view name);

  /// All variants, every library loaded; by kind, then name.
  std::vector<const VariantSpec*> all();

  /// Names of one kind, in alphabetical order; loads nothing.
  std::vector<std::string> names(Kind kind) const;

  /// "known: a, b; looked in: x, y; refused: z.so (why)", for a name that is not there.
  std::string what_is_known(Kind kind) const;

  const std::vector<Provided>& provided() const { return provided_; }
  const std::vector<Refusal>& refused() const { return refused_; }
  const std::vector<std::filesystem::path>& searched() const { return options_.search_path; }
  std::string file_of(std::string_view name) const;

 private:
  struct Library;
  Options options_;
  std::vector<Provided> provided_;
  std::vector<Refusal> refused_;
  std::vector<std::unique_ptr<Library>> libraries_;
};

/// The child's side: reads paths from stdin, one a line, tries each, and answers each with a line on stdout.
/// The runner calls it for its hidden command `probe`; tests build an executable of their own around it.
int probe_main();

}  // namespace headwright::registry
