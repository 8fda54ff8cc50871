// Lists the library files of each entry on the search path.
#include "registry/search.h"

#include <algorithm>
#include <set>
#include <system_error>

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

std::vector<fs::path> libraries_in(const fs::path& folder, std::error_code& failed) {
  std::vector<fs::path> files;
  for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (entry->path().extension() == ".so") files.push_back(entry->path());
  }
  std::ranges::sort(files);  // a folder has no order of its own
  return files;
}

}  // namespace

Found find_files(const std::vector<fs::path>& search_path) {
  Found found;
  std::set<fs::path> seen;
  for (const auto& entry : search_path) {
    std::error_code failed;
    const auto path = fs::absolute(entry, failed).lexically_normal();
    const auto status = fs::status(path, failed);
    std::vector<fs::path> files{path};
    if (entry.empty() || status.type() == fs::file_type::not_found) {
      found.faults.push_back("plugin path '" + entry.string() + "': no such file or folder");
      continue;
    }
    if (fs::is_directory(status)) files = libraries_in(path, failed);
    if (failed) found.faults.push_back("plugin path '" + entry.string() + "': " + failed.message());
    for (const auto& file : files) {
      const auto real = fs::canonical(file, failed);
      const bool fresh = seen.insert(failed ? file : real).second;  // a dangling link has no real path
      if (fresh) found.files.push_back({.file = file, .named = !fs::is_directory(status)});
    }
  }
  return found;
}

}  // namespace headwright::registry
