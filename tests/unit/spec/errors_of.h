// What a text is refused with.
#pragma once
#include <string>
#include <string_view>

#include "headwright/errors.h"
#include "spec/load.h"

namespace headwright::spec {

/// The messages for `text` as the file "f", a line each; "accepted" where there is none.
inline std::string errors_of(std::string_view text) {
  try {
    parse(text, "f");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace headwright::spec
