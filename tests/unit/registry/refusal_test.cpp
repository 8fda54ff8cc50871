// Each way in which a library can be broken is listed with its own reason, and the others go on working.
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "registry/seal.h"
#include "unit/registry/registry_fixture.h"

namespace headwright::registry {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::StartsWith;

class Refused : public RegistryTest {};

// By the stem of the file in tests/fixtures/plugins/broken.
const std::map<std::string, std::vector<std::string>> kReasons{
    {"crashes_in_constructor", {"crashed with signal 11 (Segmentation fault) while it was opened"}},
    {"crashes_in_describe", {"crashed with signal 7 (Bus error) while it described itself"}},
    {"default_outside_limits", {"parameter 'dropout'", "its default 1.5 is above its largest value 1"}},
    {"exits_in_constructor", {"ended the process with exit status 3 while it was opened"}},
    {"exits_quietly", {"ended the process with exit status 0 while it described itself"}},
    {"greets_with_nothing", {"its headwright_greeting returned nothing"}},
    {"kills_the_probe", {"ended the probe that tried it"}},
    {"no_greeting", {"exports no headwright_greeting"}},
    {"old_abi_undefined_symbol", {"built for plugin ABI 0, this runner has plugin ABI ", "; rebuild the plugin"}},
    {"other_abi", {"built for plugin ABI ", ", this runner has plugin ABI ", "; rebuild the plugin"}},
    {"other_toolchain",
     {"built for torch 2.12.0, gcc 11, C++ string ABI 0, this runner has torch ", "; rebuild the plugin"}},
    {"throws_a_number", {"threw something that is no std::exception"}},
    {"throws_in_constructor", {"no licence on this machine"}},
    {"throws_in_describe", {"threw when asked to describe itself: no table found"}},
    {"undefined_symbol", {"undefined symbol: ", "headwright::removed_function", "rebuild the plugin"}},
    {"wrong_magic", {"not a headwright plugin: its greeting begins with 0xbad, expected 0x48656164777269"}},
    {"wrong_size", {"built for a greeting of 16 bytes, this runner has one of "}},
};

TEST_F(Refused, EachBrokenLibraryHasItsOwnReasonAndTheRestWorks) {
  Registry registry(options({fixtures("broken"), fixtures("good")}));
  for (const auto& [stem, texts] : kReasons) {
    const auto reason = reason_for(registry, fixtures("broken") / (stem + ".so"));
    for (const auto& text : texts) EXPECT_THAT(reason, HasSubstr(text)) << stem;
  }
  EXPECT_EQ(registry.refused().size(), kReasons.size());
  EXPECT_THAT(reason_for(registry, fixtures("broken/undefined_symbol.so")), StartsWith("undefined symbol: "));
  EXPECT_THAT(registry.names(Kind::norm), ElementsAre("good_norm", "good_one"));
  EXPECT_NE(registry.find("good_one"), nullptr);
}

TEST_F(Refused, LibraryThatHangsIsGivenUpAndTheRestWorks) {
  auto impatient = options({fixtures("hanging"), fixtures("good")});
  impatient.time_limit = std::chrono::seconds(3);
  const Registry registry(impatient);
  EXPECT_EQ(reason_for(registry, fixtures("hanging/hangs_in_constructor.so")), "hangs: no answer within 3 s");
  EXPECT_THAT(registry.names(Kind::feed_forward), ElementsAre("good_feed_forward"));
}

TEST_F(Refused, WhatIsNoLibraryIsCalledWhatItIs) {
  file_with("text.so", "this is a letter");
  file_with("short_text.so", "hi");
  file_with("empty.so", "");
  fs::create_directory(in("folder.so"));
  fs::create_symlink("nowhere", in("dangling.so"));
  ASSERT_EQ(::mkfifo(in("pipe.so").c_str(), 0600), 0);
  fs::copy_file(probe_for_tests(), in("program.so"));
  seal_library(in("program.so"));
  Registry registry(options({in(""), fixtures("good")}));

  EXPECT_EQ(reason_for(registry, in("text.so")), "not a shared library: begins with 'this is ', expected an ELF file");
  EXPECT_EQ(reason_for(registry, in("short_text.so")), "not a shared library: begins with 'hi', expected an ELF file");
  EXPECT_EQ(reason_for(registry, in("empty.so")), "an empty file, expected a shared library");
  EXPECT_EQ(reason_for(registry, in("folder.so")), "a folder, expected a shared library");
  EXPECT_EQ(reason_for(registry, in("dangling.so")), "a link to 'nowhere', which is not there");
  EXPECT_EQ(reason_for(registry, in("pipe.so")), "not a regular file, expected a shared library");
  EXPECT_THAT(reason_for(registry, in("program.so")), HasSubstr("executable"));
  EXPECT_EQ(registry.all().size(), 3);
}

TEST_F(Refused, LibraryForAnotherMachineOrOfAnotherTypeIsToldByItsHeader) {
  auto bytes = bytes_of(fixtures("good/good_one.so"));
  const auto changed = [&](std::size_t at, char to) {
    auto copy = bytes;
    copy[at] = to;
    return copy;
  };
  file_with("object.so", changed(16, 1));          // e_type: a relocatable object
  file_with("other_machine.so", changed(18, 40));  // e_machine: 32-bit ARM
  file_with("other_class.so", changed(4, 1));      // ELFCLASS32
  file_with("no_segments.so", changed(56, 0));     // e_phnum
  const Registry registry(options({in("")}));
  EXPECT_EQ(reason_for(registry, in("object.so")), "an ELF file, but not a shared library (type 1)");
  EXPECT_THAT(reason_for(registry, in("other_machine.so")), StartsWith("built for another processor: ELF machine 40"));
  EXPECT_THAT(reason_for(registry, in("other_class.so")), StartsWith("built for another processor"));
  EXPECT_THAT(reason_for(registry, in("no_segments.so")), StartsWith("damaged"));
}

TEST_F(Refused, UnreadableFileIsCalledThat) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const auto file = copy(fixtures("good/good_one.so"), "secret.so");
  fs::permissions(file, fs::perms::none);
  EXPECT_EQ(reason_for(Registry(options({file})), file), "cannot be read");
}

TEST_F(Refused, WithoutAProbeThatWorksEachFileSaysSo) {
  const auto reason_with = [](const path& probe) {
    auto with = options({fixtures("good/good_one.so")});
    with.probe = probe;
    return reason_for(Registry(with), fixtures("good/good_one.so"));
  };
  EXPECT_EQ(reason_with("/no/such/probe"),
            "could not be tried: the probe '/no/such/probe' cannot be started: No such file or directory");
  EXPECT_THAT(reason_with("/bin/true"), HasSubstr("the probe '/bin/true' is not one"));
  EXPECT_THAT(reason_with(""), HasSubstr("cannot be started"));
}

}  // namespace
}  // namespace headwright::registry
