// A look at a file before it is opened as a library: cheap, and more exact than what the loader would say.
#pragma once
#include <filesystem>
#include <string>

namespace headwright::registry {

/// Why `file` cannot be a shared library for this machine; empty = nothing speaks against it. A truncated file is told
/// by what its headers claim, since opening one usually ends the process with SIGBUS.
std::string elf_fault(const std::filesystem::path& file);

}  // namespace headwright::registry
