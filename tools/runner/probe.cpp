// `runner probe`: the child process that tries libraries. It is not for people.
#include "commands.h"
#include "registry/registry.h"

namespace headwright::runner {

void add_probe(CLI::App& app, Global& global) {
  auto& command = add_command(app, global, "probe", "tries plugin libraries named on stdin", "",
                              [] { return registry::probe_main(); });
  command.group("");  // not in the help: the registry starts it
}

}  // namespace headwright::runner
