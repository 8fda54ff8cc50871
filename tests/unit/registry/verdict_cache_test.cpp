// Verdicts are remembered. A probe that does not exist shows that none was started.
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "registry/seal.h"
#include "unit/registry/registry_fixture.h"

namespace headwright::registry {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class Remembered : public RegistryTest {
 protected:
  Options cached(std::vector<path> search_path) const {
    auto with = options(std::move(search_path));
    with.cache_folder = in("cache");
    return with;
  }
  Options without_probe(std::vector<path> search_path) const {
    auto with = cached(std::move(search_path));
    with.probe = "/no/such/probe";
    return with;
  }
  static constexpr auto kTriedAgain = "could not be tried: the probe '/no/such/probe'";

  path cache_file() const { return in("cache") / "plugin_verdicts.json"; }
  nlohmann::json cache() const { return nlohmann::json::parse(bytes_of(cache_file())); }

  static void touch(const path& file) {
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(5));
  }
};

TEST_F(Remembered, SecondStartNeedsNoProbe) {
  const std::vector<path> search{fixtures("good"), fixtures("broken/other_abi.so"),
                                 fixtures("broken/crashes_in_constructor.so")};
  const Registry first(cached(search));
  Registry second(without_probe(search));
  EXPECT_EQ(first.refused().size(), 2);
  EXPECT_EQ(second.refused().size(), 2);
  for (const auto& refusal : first.refused()) EXPECT_EQ(reason_for(second, refusal.file), refusal.reason);
  EXPECT_THAT(second.names(Kind::norm), ElementsAre("good_norm", "good_one"));
  EXPECT_EQ(second.all().size(), 3);
}

TEST_F(Remembered, OnlyNewFilesAreTried) {
  Registry(cached({fixtures("good/good_one.so")}));
  const Registry registry(without_probe({fixtures("good")}));
  EXPECT_THAT(registry.names(Kind::norm), ElementsAre("good_one"));
  EXPECT_THAT(reason_for(registry, fixtures("good/good_two.so")), StartsWith(kTriedAgain));
}

TEST_F(Remembered, GoodFileWhoseTimeAloneChangedIsKept) {
  const auto file = copy(fixtures("good/good_one.so"), "one.so");
  Registry(cached({file}));
  const auto before = cache()[file.string()];
  touch(file);
  EXPECT_THAT(Registry(without_probe({file})).refused(), IsEmpty());
  EXPECT_EQ(cache()[file.string()], before);
}

TEST_F(Remembered, FileWithOtherBytesIsTriedAgain) {
  const auto file = copy(fixtures("good/good_one.so"), "one.so");
  Registry(cached({file}));
  const auto time = fs::last_write_time(file);
  auto bytes = bytes_of(file);
  bytes[bytes.size() / 2] ^= 1;
  file_with("one.so", bytes);
  seal_library(file);  // of the same size
  fs::last_write_time(file, time);
  EXPECT_THAT(reason_for(Registry(without_probe({file})), file), StartsWith(kTriedAgain));
  file_with("one.so", bytes + "x");
  seal_library(file);
  EXPECT_THAT(reason_for(Registry(without_probe({file})), file), StartsWith(kTriedAgain));
}

TEST_F(Remembered, TouchingARefusedFileHasItTriedAgain) {
  const auto file = copy(fixtures("broken/exits_quietly.so"), "exits.so");
  Registry(cached({file}));
  EXPECT_THAT(reason_for(Registry(without_probe({file})), file), StartsWith("ended the process"));
  touch(file);
  EXPECT_THAT(reason_for(Registry(without_probe({file})), file), StartsWith(kTriedAgain));
}

TEST_F(Remembered, WhatMayHaveAnotherCauseIsNot) {
  const std::vector<path> search{fixtures("hanging"), fixtures("broken/undefined_symbol.so")};
  auto impatient = cached(search);
  impatient.time_limit = std::chrono::seconds(3);
  const Registry first(impatient);
  EXPECT_EQ(first.refused().size(), 2);
  const Registry second(without_probe(search));
  for (const auto& refusal : second.refused()) EXPECT_THAT(refusal.reason, StartsWith(kTriedAgain)) << refusal.file;
}

TEST_F(Remembered, VerdictsOfAnotherBuildOfTheFrameworkDoNotCount) {
  const auto file = fixtures("good/good_one.so");
  Registry(cached({file}));
  auto json = cache();
  json[file.string()]["runner"] = json[file.string()]["runner"].get<std::string>() + "1";
  std::ofstream(cache_file()) << json;
  EXPECT_THAT(reason_for(Registry(without_probe({file})), file), StartsWith(kTriedAgain));
}

TEST_F(Remembered, DamagedCacheOnlyCostsTime) {
  const auto file = fixtures("good/good_one.so");
  Registry(cached({file}));
  auto wrong_kind = cache(), wrong_type = cache(), says_both = cache();
  wrong_kind[file.string()]["verdict"]["provides"][0]["kind"] = "colour";
  wrong_type[file.string()]["hash"] = "large";
  says_both[file.string()]["verdict"]["reason"] = "and yet refused";
  const std::string key = "{\"" + file.string() + "\": ";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1, 2]"), std::string("\xff\0\x01", 3), key + "null}",
        key + "[]}", key + "{}}", key + "{\"verdict\": 3}}", wrong_kind.dump(), wrong_type.dump(), says_both.dump()}) {
    std::ofstream(cache_file(), std::ios::binary) << text;
    EXPECT_THAT(reason_for(Registry(without_probe({file})), file), StartsWith(kTriedAgain)) << text;
  }
  EXPECT_THAT(Registry(cached({file})).refused(), IsEmpty());
  EXPECT_THAT(Registry(without_probe({file})).refused(), IsEmpty());  // whole again
}

TEST_F(Remembered, CacheThatCannotBeWrittenOnlyCostsTime) {
  auto with = cached({fixtures("good")});
  with.cache_folder = file_with("a_file", "") / "cache";
  EXPECT_THAT(Registry(with).refused(), IsEmpty());
  fs::create_directories(cache_file());  // a folder in its place
  EXPECT_THAT(Registry(cached({fixtures("good")})).refused(), IsEmpty());
}

TEST_F(Remembered, FilesThatAreGoneAreForgotten) {
  const auto file = copy(fixtures("good/good_one.so"), "one.so");
  Registry(cached({file}));
  EXPECT_TRUE(cache().contains(file.string()));
  fs::remove(file);
  Registry(cached({fixtures("good/good_two.so")}));
  EXPECT_FALSE(cache().contains(file.string()));
  EXPECT_TRUE(cache().contains(fixtures("good/good_two.so").string()));
}

TEST_F(Remembered, RegistriesThatStartTogetherLeaveAWholeCache) {
  std::vector<std::thread> threads;
  for (const auto* file : {"good/good_one.so", "good/good_two.so", "broken/other_abi.so", "odd/prints.so"}) {
    threads.emplace_back([this, file] { Registry(cached({fixtures(file)})); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(cache().is_object());
  EXPECT_FALSE(cache().empty());
}

}  // namespace
}  // namespace headwright::registry
