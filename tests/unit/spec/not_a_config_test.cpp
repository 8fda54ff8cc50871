// Weights and other files that are given where a config is expected.
#include "spec/not_a_config.h"

#include <gmock/gmock.h>

#include "headwright/errors.h"
#include "helpers/temporary_folder.h"
#include "spec/load.h"

namespace headwright::spec {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::string_literals;

struct Other {
  std::string name, bytes, what;
};

const std::vector<Other> kOthers{{"w.safetensors", "\x02\0\0\0\0\0\0\0{}"s, "a file of tensors (.safetensors)"},
                                 {"renamed", "\x02\0\0\0\0\0\0\0{}"s, "a file of tensors (.safetensors)"},
                                 {"renamed.yaml", "\x02\0\0\0\0\0\0\0{}"s, "a file of tensors (.safetensors)"},
                                 {"cut.safetensors", "\x02\0\0"s, "a file of tensors (.safetensors)"},
                                 {"empty.safetensors", "", "a file of tensors (.safetensors)"},
                                 {"tiny.pt", "PK\x03\x04\0\0"s, "a model or weights as torch saves them"},
                                 {"tiny.pth", "PK\x03\x04\0\0"s, "a model or weights as torch saves them"},
                                 {"pytorch_model.bin", "PK\x03\x04\0\0"s, "a model or weights as torch saves them"},
                                 {"renamed", "PK\x03\x04\0\0"s, "a model or weights as torch saves them"},
                                 {"old.pt", "\x80\x02\x8a\x0a"s, "a Python pickle"},
                                 {"x.npy", "\x93NUMPY\x01\0"s, "a tensor (.npy)"},
                                 {"X.NPY", "\x93NUMPY\x01\0"s, "a tensor (.npy)"},
                                 {"x.npz", "PK\x03\x04\0\0"s, "an archive of arrays (.npz)"},
                                 {"m.gguf", "GGUF\x03\0\0\0"s, "a model for llama.cpp (.gguf)"},
                                 {"m.h5", "\x89HDF\r\n\x1a\n"s, "a file of arrays (HDF5)"},
                                 {"m.onnx", "\x08\x07\x12\0"s, "a model (.onnx)"},
                                 {"softmax.so",
                                  "\x7f"
                                  "ELF\x02\0"s,
                                  "a shared library"}};

class NotAConfig : public test::TemporaryFolder {
 protected:
  static std::string error_of(const std::filesystem::path& path) {
    return test::message_of<ConfigError>([&] { load(path); });
  }
};

TEST_F(NotAConfig, SaysWhatTheFileIsAndWhoTakesIt) {
  for (const auto& [name, bytes, what] : kOthers) {
    for (const std::size_t size : {bytes.size(), std::size_t{5} << 20}) {  // also past the limit of a config
      if (bytes.size() < 4 && size > bytes.size()) continue;
      auto padded = bytes;
      padded.resize(size);
      const auto path = file_with(name, padded);
      const auto error = error_of(path);
      EXPECT_THAT(error, StartsWith(path.string() + ": is " + what)) << name;
      EXPECT_THAT(error, HasSubstr(", expected a YAML config; ")) << name;
      EXPECT_THAT(error, testing::AnyOf(HasSubstr("runner "), HasSubstr("no command reads it"))) << name;
      EXPECT_THAT(error, Not(HasSubstr("UTF-8"))) << name;
    }
  }
}

TEST_F(NotAConfig, NamesTheConfigsOfAFolder) {
  EXPECT_EQ(error_of(in("")), in("").string() + ": is a folder, expected a YAML config");
  file_with("b.yaml", "x");
  file_with("a.yml", "x");
  EXPECT_EQ(error_of(in("")), in("").string() + ": is a folder, expected a YAML config; it holds a.yml, b.yaml");
  for (int i = 0; i < 9; ++i) file_with(std::to_string(i) + ".yaml", "x");
  EXPECT_THAT(error_of(in("")), HasSubstr("it holds 0.yaml, 1.yaml, 2.yaml, 3.yaml, 4.yaml, ..."));
}

TEST_F(NotAConfig, LeavesTextToTheReaderWhateverItIsCalled) {
  for (const auto* name : {"a.yaml", "a.pt", "a.safetensors", "a"}) {
    EXPECT_EQ(what_it_is_instead(file_with(name, "name: a\n")), "") << name;
  }
  EXPECT_EQ(what_it_is_instead(file_with("empty.yaml", "")), "");
  EXPECT_EQ(what_it_is_instead(in("none.safetensors")), "");
}

}  // namespace
}  // namespace headwright::spec
