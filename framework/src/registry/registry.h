// Name -> VariantSpec. Finds plugin libraries, lets a child process try those it has not seen, loads what is asked for.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/variant.h"

namespace headwright::registry {

/// A library that is not used, and why.
struct Refusal {
  std::string file, reason;
  bool named = false;  // by the search path itself, not found in a folder
};

/// A variant that some library provides; the library itself may not be loaded yet.
struct Provided {
  std::string name;
  Kind kind;
  std::string file;
  std::uint64_t hash;  // of the file, as it was when it was looked at
};

struct Options {
  /// Folders (every *.so in them) and single libraries. Each must be there: leave out a default that may be missing.
  std::vector<std::filesystem::path> search_path;
  std::filesystem::path probe;                        // started as `PROBE probe`, tries the libraries not seen before
  std::optional<std::filesystem::path> cache_folder;  // for verdicts; none = every library is tried each time
  std::chrono::milliseconds time_limit{10'000};       // for one library to be opened and to describe itself
  bool allow_unsealed = false;                        // libraries without a seal, in which damage goes unnoticed
};

struct Candidate;

class Registry {
 public:
  /// Scans the search path. A broken library is refused, never fatal, and so are two that provide one name. Throws
  /// PluginError where an entry of the search path does not exist.
  explicit Registry(Options options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// For a command that uses plugins: throws PluginError where a library that was asked for by its file is refused, and
  /// warns of those that were only found in a folder.
  void expect_asked_for() const;

  /// The variant called `name`, its library loaded; null if no library provides it. Lives as long as the process.
  /// Its functions throw PluginError naming the file, whatever the plugin throws. Throws PluginError where the library
  /// no longer loads, and where several provide the name.
  const VariantSpec* find(std::string_view name) const;

  /// All variants, every library loaded; by kind, then name. A library that no longer loads becomes a refused one.
  std::vector<const VariantSpec*> all();

  /// Names of one kind, in alphabetical order; loads nothing.
  std::vector<std::string> names(Kind kind) const;

  /// "known: a, b; looked in: x, y; refused: z.so (why)", for a name that is not there.
  std::string what_is_known(Kind kind) const;

  const std::vector<Provided>& provided() const { return provided_; }
  const std::vector<Refusal>& refused() const { return refused_; }
  const std::vector<std::filesystem::path>& searched() const { return options_.search_path; }
  std::string file_of(std::string_view name) const;  // empty = no library provides it

 private:
  void scan(const std::vector<Candidate>& files);
  void refuse_twins();
  std::string known_text(std::optional<Kind> kind) const;

  Options options_;
  std::vector<Provided> provided_;  // by kind, then name
  std::vector<Refusal> refused_;
  std::map<std::string, std::string, std::less<>> contested_;  // a name that several provide, and what to say of it
};

/// The child's side: stdin is a socket; takes a path from it, tries the library, answers, until the socket ends.
/// The runner calls it first thing for its hidden command `probe`; tests build an executable of their own around it.
int probe_main();

}  // namespace headwright::registry
