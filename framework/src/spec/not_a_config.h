// Files that are given where a config is expected.
#pragma once
#include <filesystem>
#include <string>

namespace headwright::spec {

/// What the file or folder is and which command takes it: "is a tensor (.npy), expected a YAML config; ...". Empty = it
/// may be a config, or it is not there.
std::string what_it_is_instead(const std::filesystem::path& path);

}  // namespace headwright::spec
