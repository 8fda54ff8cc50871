// Variants are found on a search path, by name, once.
#include "registry/registry.h"

#include <ATen/ATen.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "headwright/feed_forward.h"
#include "headwright/norm.h"
#include "unit/registry/registry_fixture.h"

namespace headwright::registry {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

class Registered : public RegistryTest {};

TEST_F(Registered, LibraryGivesVariantsThatRun) {
  Registry registry(options({fixtures("good")}));
  EXPECT_THAT(registry.refused(), IsEmpty());
  EXPECT_THAT(registry.names(Kind::norm), ElementsAre("good_norm", "good_one"));
  EXPECT_THAT(registry.names(Kind::feed_forward), ElementsAre("good_feed_forward"));
  EXPECT_EQ(registry.file_of("good_norm"), fixtures("good/good_two.so"));

  const auto* variant = registry.find("good_one");
  ASSERT_NE(variant, nullptr);
  EXPECT_EQ(variant->kind, Kind::norm);
  const auto module = variant->make({.d_model = 4}, {{"factor", Value{2.5}}});
  const auto norm = std::dynamic_pointer_cast<Norm>(module);
  ASSERT_NE(norm, nullptr);
  EXPECT_TRUE(at::equal(norm->forward(at::ones({1, 2, 4})), at::full({1, 2, 4}, 2.5)));
}

TEST_F(Registered, AllAreSortedByKindThenName) {
  Registry registry(options({fixtures("good")}));
  std::vector<std::string> names;
  for (const auto* variant : registry.all()) names.push_back(variant->name);
  EXPECT_THAT(names, ElementsAre("good_feed_forward", "good_norm", "good_one"));
}

TEST_F(Registered, UnknownNameGivesNothing) {
  Registry registry(options({fixtures("good")}));
  EXPECT_EQ(registry.find("good_two"), nullptr);  // the name of a file, not of a variant
  EXPECT_EQ(registry.file_of("good_two"), "");
}

TEST_F(Registered, LibraryIsOpenedOnlyWhenItsVariantIsAskedFor) {
  const auto file = copy(fixtures("good/good_one.so"), "lazy.so");
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find(file.string()) != std::string::npos;
  };
  Registry registry(options({file}));
  EXPECT_THAT(registry.names(Kind::norm), ElementsAre("good_one"));
  EXPECT_FALSE(is_mapped());
  registry.find("good_one");
  EXPECT_TRUE(is_mapped());
}

TEST_F(Registered, FilesWithAnotherEndingAreLeftAlone) {
  file_with("readme.txt", "not a plugin");
  file_with("plugin.so.1", "not a plugin");
  const Registry registry(options({in("")}));
  EXPECT_THAT(registry.refused(), IsEmpty());
}

TEST_F(Registered, OneRealFileCountsOnce) {
  const auto file = copy(fixtures("good/good_one.so"), "one.so");
  fs::create_symlink(file, in("another_name_for_it.so"));
  fs::create_directory_symlink(in(""), in("link_to_folder"));
  const Registry registry(options({in(""), in("link_to_folder"), file, in("../") / in("").parent_path().filename()}));
  EXPECT_THAT(registry.names(Kind::norm), ElementsAre("good_one"));
}

TEST_F(Registered, NameThatTwoLibrariesClaimIsAnErrorOnlyWhereItIsAskedFor) {
  Registry registry(options({fixtures("good"), fixtures("again")}));
  const auto first = fixtures("again/good_one.so"), second = fixtures("good/good_one.so");
  EXPECT_EQ(registry.refused().size(), 2);
  EXPECT_EQ(reason_for(registry, first),
            "provides 'good_one', and so does " + second.string() + "; take one of them off the plugin path");
  EXPECT_THAT(reason_for(registry, second), HasSubstr(first.string()));
  EXPECT_EQ(test::message_of<PluginError>([&] { registry.find("good_one"); }),
            "two libraries provide 'good_one': " + first.string() + " and " + second.string() +
                "; take one of them off the plugin path");
  EXPECT_NE(registry.find("good_norm"), nullptr);
  EXPECT_EQ(registry.all().size(), 2);
  registry.expect_asked_for();  // throws nothing: another config can run
}

TEST_F(Registered, LibraryThatWasNamedAndIsRefusedIsAnErrorWhereOneInAFolderIsNot) {
  const auto broken = file_with("broken.so", "text");
  Registry(options({in(""), fixtures("good")})).expect_asked_for();
  const Registry named(options({broken, fixtures("broken/other_abi.so"), fixtures("good")}));
  EXPECT_THAT(test::message_of<PluginError>([&] { named.expect_asked_for(); }),
              AllOf(HasSubstr(broken.string() + ": not a shared library"),
                    HasSubstr(fixtures("broken/other_abi.so").string() + ": built for")));
}

TEST_F(Registered, MissingFolderIsAnErrorThatSaysWhatIsThere) {
  const auto message =
      test::message_of<PluginError>([&] { Registry(options({in("no_such_folder"), fixtures("good"), ""})); });
  EXPECT_THAT(message, AllOf(HasSubstr("plugin path '" + in("no_such_folder").string() + "': no such file or folder"),
                             HasSubstr("plugin path '': no such file or folder"), HasSubstr("known: "),
                             HasSubstr("good_one"), HasSubstr("looked in: ")));
}

TEST_F(Registered, WhatIsKnownSaysWhereItLookedAndWhatWasRefused) {
  const auto broken = file_with("broken.so", "text");
  const Registry registry(options({fixtures("good"), in("")}));
  EXPECT_EQ(registry.what_is_known(Kind::norm),
            "known: good_norm, good_one; looked in: " + fixtures("good").string() + ", " + in("").string() +
                "; refused: " + broken.string() + " (not a shared library: begins with 'text', expected an ELF file)");
  EXPECT_THAT(registry.what_is_known(Kind::position), HasSubstr("known: none; looked in: "));
  EXPECT_EQ(Registry(options({})).what_is_known(Kind::norm), "known: none; looked in: nowhere");
}

TEST_F(Registered, ModulesOutliveTheRegistry) {
  auto registry = std::make_unique<Registry>(options({fixtures("good")}));
  const auto* variant = registry->find("good_feed_forward");
  const auto module = std::dynamic_pointer_cast<FeedForward>(variant->make({}, {}));
  registry.reset();
  EXPECT_TRUE(at::equal(module->forward(at::ones({1, 1, 2})), at::full({1, 1, 2}, 4)));
  EXPECT_NE(variant->make({}, {}), nullptr);
}

TEST_F(Registered, WhateverAPluginThrowsNamesItsFile) {
  Registry registry(options({fixtures("odd/fails_later.so")}));
  const auto place = fixtures("odd/fails_later.so").string() + ": 'throws_later' failed in ";
  const auto* variant = registry.find("throws_later");
  EXPECT_EQ(test::message_of<PluginError>([&] { variant->claims({}, {}); }), place + "claims: no claims today");
  Issues issues;
  EXPECT_EQ(test::message_of<PluginError>([&] { variant->check({}, {}, issues); }),
            place + "check: threw something that is no std::exception");
  EXPECT_EQ(test::message_of<ResourceError>([&] { variant->make({}, {}); }), place + "make: out of memory");
  EXPECT_THAT(test::message_of<PluginError>([&] { registry.find("makes_nothing")->make({}, {}); }),
              HasSubstr("'makes_nothing' failed in make: returned no module"));
}

TEST_F(Registered, PrintingPluginDoesNotGarbleTheAnswers) {
  Registry registry(options({fixtures("odd/prints.so"), fixtures("good")}));
  EXPECT_THAT(registry.refused(), IsEmpty());
  EXPECT_THAT(registry.names(Kind::norm), ElementsAre("good_norm", "good_one", "prints"));
}

TEST_F(Registered, LibraryThatGotLostSinceItWasTriedIsAnErrorForFindAndARefusalForAll) {
  const auto file = copy(fixtures("good/good_one.so"), "lost.so");
  Registry registry(options({file, fixtures("good/good_two.so")}));
  fs::remove(file);
  EXPECT_THAT(test::message_of<PluginError>([&] { registry.find("good_one"); }), HasSubstr(file.string() + ": "));
  EXPECT_EQ(registry.all().size(), 2);
  EXPECT_THAT(reason_for(registry, file), HasSubstr("No such file"));
  EXPECT_EQ(registry.find("good_one"), nullptr);
}

}  // namespace
}  // namespace headwright::registry
