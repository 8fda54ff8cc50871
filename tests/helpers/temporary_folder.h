// A folder for one test, removed after it, and raw bytes in files.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace headwright::test {

class TemporaryFolder : public testing::Test {
 protected:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "headwright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  ~TemporaryFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path in(std::string_view name) const { return folder_ / name; }

  std::filesystem::path file_with(std::string_view name, std::string_view bytes) const {
    std::ofstream(in(name), std::ios::binary) << bytes;
    return in(name);
  }

  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path folder_;
};

/// The message of the E that `action` throws; fails the test where it throws none.
template <class E, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "threw nothing";
  return {};
}

}  // namespace headwright::test
