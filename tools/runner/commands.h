// One line a command.
#pragma once
#include "command.h"

namespace headwright::runner {

void add_forward(CLI::App& app, Global& global);
void add_export(CLI::App& app, Global& global);
void add_compare(CLI::App& app, Global& global);
void add_lesson(CLI::App& app, Global& global);
void add_bench(CLI::App& app, Global& global);
void add_show(CLI::App& app, Global& global);
void add_validate(CLI::App& app, Global& global);
void add_mask(CLI::App& app, Global& global);
void add_list(CLI::App& app, Global& global);
void add_describe(CLI::App& app, Global& global);
void add_check(CLI::App& app, Global& global);
void add_new_plugin(CLI::App& app, Global& global);
void add_seal(CLI::App& app, Global& global);
void add_schema(CLI::App& app, Global& global);
void add_inspect(CLI::App& app, Global& global);
void add_doctor(CLI::App& app, Global& global);
void add_completion(CLI::App& app, Global& global);
void add_probe(CLI::App& app, Global& global);  // hidden: the registry's child process

}  // namespace headwright::runner
