// One exception type per stage. tools/runner maps each to an exit code, in one place.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define HEADWRIGHT_API __attribute__((visibility("default")))

namespace headwright {

/// Base of everything the framework throws. A message says where, what was got, what was expected, what to try.
class HEADWRIGHT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// Tensors that do not fit together: "[attend] q: got (2, 4, 17, 16), expected d_head = 32 as in k (2, 4, 17, 32)".
class HEADWRIGHT_API ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

/// Input data or an option that the user gave and that cannot be used: a file, a token id, a shape.
class HEADWRIGHT_API InputError : public Error {
 public:
  using Error::Error;
  ~InputError() override;
};

/// A file that cannot be written.
class HEADWRIGHT_API FileError : public Error {
 public:
  using Error::Error;
  ~FileError() override;
};

/// A plugin that cannot be loaded, or that failed while the framework called it.
class HEADWRIGHT_API PluginError : public Error {
 public:
  using Error::Error;
  ~PluginError() override;
};

/// A device that is not there, or memory that does not suffice.
class HEADWRIGHT_API ResourceError : public Error {
 public:
  using Error::Error;
  ~ResourceError() override;
};

/// One fault in a config: where it stands, and what is wrong there.
struct Problem {
  std::string file;
  int line = 0;            // from 1; 0 = the file as a whole
  int column = 0;          // from 1, in characters
  std::string path;        // "model.blocks.dense.attention.dropout"
  std::string message;     // what was got, what was expected
  std::string suggestion;  // the nearest valid key or value; empty = none

  /// file:line:column: path: message; did you mean 'suggestion'?
  std::string to_string() const;
};

/// Every problem of a config, found in one run.
class HEADWRIGHT_API ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  ~ConfigError() override;
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

}  // namespace headwright
