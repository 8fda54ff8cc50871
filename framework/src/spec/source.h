// The text of a config: where a byte stands for a human, and what yaml-cpp's events do not tell.
#pragma once
#include <string>
#include <string_view>

#include "headwright/errors.h"
#include "spec/node.h"

namespace headwright::spec {

class Source {
 public:
  /// first_column: of the text's first character, for a value within an option.
  Source(std::string_view text, std::string file, int first_column = 1);

  std::string_view text() const { return text_; }

  /// Where byte `at` stands. Cheap for a place near the one asked for before.
  Mark mark(std::size_t at) const;
  int line(std::size_t at) const { return mark(at).line; }

  Problem problem(std::size_t at, std::string message, std::string path = {}) const;

  /// Throws ConfigError for what yaml-cpp lets pass or misreads: bytes that are not UTF-8, control characters (it takes
  /// 0x04 for the end), carriage returns alone, directives, tabs as indentation.
  void check_characters() const;

  /// The first byte of what an anchor at `at` stands before; `at` itself where there is none.
  std::size_t after_anchor(std::size_t at) const;

  /// The byte past the closing quote of the quoted text that begins at `at`, or npos.
  std::size_t after_quotes(std::size_t at) const;

  /// Whether the [ or { at `at` is closed again.
  bool closes(std::size_t at) const;

  /// The first quote from `from` on that is never closed, or npos.
  std::size_t unclosed_quote(std::size_t from) const;

 private:
  /// `at` itself, or the last byte of the comment or the quoted text that begins there; npos = never closed.
  std::size_t skip_opaque(std::size_t at) const;

  std::string_view text_;
  std::string file_;
  int first_column_;
  mutable std::size_t known_at_ = 0;  // a place worked out before: its byte, line and column
  mutable int known_line_ = 1, known_column_ = 1;
};

}  // namespace headwright::spec
