// From a search path to the files on it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace headwright::registry {

struct Candidate {
  std::filesystem::path file;  // absolute
  bool named = false;          // the search path says this file; false = found in a folder
};

struct Found {
  std::vector<Candidate> files;     // each real file once, in the order of the search path
  std::vector<std::string> faults;  // entries of the search path that are not there or cannot be read
};

/// Folders give every *.so in them, by name; single files give themselves.
Found find_files(const std::vector<std::filesystem::path>& search_path);

}  // namespace headwright::registry
