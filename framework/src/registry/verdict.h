// What trying a library showed. Crosses from the probe to the registry and into the cache as JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headwright/params.h"

namespace headwright::registry {

struct Verdict {
  struct Name {
    std::string name;
    Kind kind;
  };
  std::vector<Name> provides;
  std::string reason;  // why the library is refused; empty = it is usable

  /// False where something outside the file may be the cause (another library, the load of the machine, a kill), so
  /// that the verdict must not be remembered.
  bool lasting = true;
};

Verdict refused(std::string reason, bool lasting = true);

nlohmann::json to_json(const Verdict& verdict);

/// Nothing where the JSON is none that to_json() makes.
std::optional<Verdict> verdict_from(const nlohmann::json& json);

}  // namespace headwright::registry
