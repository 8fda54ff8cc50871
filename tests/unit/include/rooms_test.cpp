// Includes point one way, and each heavy library stays in its one room.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.h"

namespace headwright {
namespace {

namespace fs = std::filesystem;

fs::path source() { return HEADWRIGHT_SOURCE_DIR; }

struct Include {
  std::string file;    // from the root of the project
  std::string room;    // "registry"; "include" for the public headers; "plugins"; "tools"
  std::string target;  // as written: "support/text.h"
  bool quoted;         // one of our own
  std::string target_room() const { return target.substr(0, target.find('/')); }
  std::string text() const { return file + " includes " + (quoted ? '"' + target + '"' : '<' + target + '>'); }
};

std::string room_of(const fs::path& file) {
  std::vector<std::string> parts;
  for (const auto& part : file) parts.push_back(part.string());
  if (parts[0] == "framework" && parts[1] == "src") return parts[2];
  return parts[0] == "framework" ? "include" : parts[0];
}

std::vector<Include> includes_of(const std::string& text, const std::string& file) {
  static const std::regex kLine(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, kLine)) {
      includes.push_back({file, room_of(file), match[2].str(), match[1].str() == "\""});
    }
  }
  return includes;
}

const std::vector<Include>& all_includes() {
  static const auto kAll = [] {
    std::vector<Include> all;
    for (const auto* folder : {"framework/include", "framework/src", "plugins", "tools"}) {
      for (const auto& entry : fs::recursive_directory_iterator(source() / folder)) {
        if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
        const auto file = fs::relative(entry.path(), source()).string();
        const auto found = includes_of(support::read_file(entry.path(), 1 << 20), file);
        all.insert(all.end(), found.begin(), found.end());
      }
    }
    return all;
  }();
  return kAll;
}

// What a room may include besides itself. Tools may include every room.
const std::map<std::string, std::set<std::string>>& below() {
  static const std::map<std::string, std::set<std::string>> kBelow{
      {"headwright", {}},
      {"support", {"headwright"}},
      {"spec", {"headwright", "support"}},
      {"registry", {"headwright", "support"}},
      {"tensor_io", {"headwright", "support"}},
      {"core", {"headwright", "support"}},
      {"bind", {"headwright", "support", "spec", "registry"}},
      {"model", {"headwright", "support", "registry", "bind", "core"}},
      {"exporter", {"headwright", "support", "registry", "bind", "core", "model", "tensor_io"}},
      {"run", {"headwright", "support", "registry", "bind", "core", "model", "tensor_io"}},
      {"check", {"headwright", "support", "registry", "bind", "core", "model", "tensor_io", "run", "exporter"}},
      {"bench", {"headwright", "support", "registry", "bind", "core", "model", "tensor_io", "run", "exporter"}},
      {"lessons", {"headwright", "support", "registry", "bind", "core", "model", "tensor_io", "run", "exporter"}},
  };
  return kBelow;
}

TEST(Rooms, AreFoundWithTheirIncludes) {
  EXPECT_GT(all_includes().size(), 100U);
  const auto includes =
      includes_of("#include <a/b.h>\n  # include \"c/d.h\"  // e\n// #include <f>\n", "framework/src/spec/x.cpp");
  ASSERT_EQ(includes.size(), 2U);
  EXPECT_EQ(includes[0].text(), "framework/src/spec/x.cpp includes <a/b.h>");
  EXPECT_EQ(includes[1].target_room(), "c");
  EXPECT_EQ(includes[1].room, "spec");
}

TEST(Rooms, IncludeOnlyWhatIsBelowThem) {
  for (const auto& include : all_includes()) {
    if (!include.quoted || include.room == "tools" || include.room == "plugins") continue;
    const auto room = include.room == "include" ? "headwright" : include.room;
    const auto allowed = below().find(room);
    ASSERT_NE(allowed, below().end()) << "no place is set for room " << room << ": " << include.text();
    EXPECT_TRUE(include.target_room() == room || allowed->second.contains(include.target_room())) << include.text();
  }
}

// bind is the last room that sees the tree of a config.
TEST(Rooms, BehindBindSeeNoYamlNodes) {
  for (const auto& include : all_includes()) {
    if (!include.quoted || include.target_room() != "spec") continue;
    EXPECT_TRUE(include.room == "spec" || include.room == "bind") << include.text();
  }
}

// A header and the .cpp that implements it share a name, in one folder or across the border of the public headers; two
// files that have nothing to do with each other do not.
TEST(Rooms, HoldEachFileNameOnce) {
  std::map<std::string, std::vector<fs::path>> by_name;
  for (const auto* folder : {"framework/include", "framework/src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source() / folder)) {
      if (entry.is_regular_file()) by_name[entry.path().stem()].push_back(fs::relative(entry.path(), source()));
    }
  }
  EXPECT_GT(by_name.size(), 100U);
  for (const auto& [name, files] : by_name) {
    if (files.size() == 1) continue;
    const auto& first = files[0];
    const auto& second = files[1];
    const bool pair = files.size() == 2 && first.extension() != second.extension() &&
                      (first.parent_path() == second.parent_path() || room_of(first) == "include");
    EXPECT_TRUE(pair) << name << ": " << first << ", " << second << (files.size() > 2 ? " and more" : "");
  }
}

TEST(Rooms, PluginsIncludeOneHeaderOfTheProject) {
  for (const auto& include : all_includes()) {
    if (include.room == "plugins" && include.quoted) {
      EXPECT_EQ(include.target, "headwright/plugin.h") << include.text();
    }
  }
}

TEST(Rooms, PublicHeadersShowOnlyTorchAndTheStandardLibrary) {
  for (const auto& include : all_includes()) {
    if (include.room != "include" || include.quoted) continue;
    const auto folder = include.target.find('/') == std::string::npos ? "" : include.target_room();
    EXPECT_TRUE(folder.empty() || folder == "torch" || folder == "ATen" || folder == "c10") << include.text();
  }
}

TEST(Rooms, HeavyLibrariesStayInTheirOneRoom) {
  const std::map<std::string, std::string> homes{{"yaml-cpp/", "framework/src/spec/"},
                                                 {"boost/dll", "framework/src/registry/"},
                                                 {"spdlog/", "framework/src/support/log.cpp"}};
  for (const auto& include : all_includes()) {
    for (const auto& [library, home] : homes) {
      if (include.target.starts_with(library)) {
        EXPECT_TRUE(include.file.starts_with(home)) << include.text();
      }
    }
  }
}

TEST(Rooms, WithoutTorchStayWithoutIt) {
  for (const auto& include : all_includes()) {
    if (include.room != "spec" && include.room != "support") continue;
    const auto folder = include.target_room();
    EXPECT_TRUE(include.quoted || (folder != "torch" && folder != "ATen" && folder != "c10")) << include.text();
  }
}

}  // namespace
}  // namespace headwright
