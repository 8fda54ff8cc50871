// .safetensors files, good and damaged.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <random>

#include "headwright/errors.h"
#include "helpers/temporary_folder.h"
#include "tensor_io/tensor_io.h"

namespace headwright::tensor_io {
namespace {

using test::message_of;
using testing::HasSubstr;

class SafetensorsFile : public test::TemporaryFolder {
 protected:
  /// A file with this header and this many bytes of data.
  std::filesystem::path with(const std::string& json, std::size_t data_size) {
    std::uint64_t length = json.size();
    std::string bytes(reinterpret_cast<const char*>(&length), 8);
    return file_with("x.safetensors", bytes + json + std::string(data_size, '\0'));
  }
  std::string refusal(const std::string& json, std::size_t data_size) {
    const auto path = with(json, data_size);
    return message_of<InputError>([&] { read_safetensors(path); });
  }
};

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\": {\"dtype\": \"" + dtype + "\", \"shape\": " + shape + ", \"data_offsets\": " + offsets +
         "}";
}

TEST_F(SafetensorsFile, EveryDtypeComesBackAsItWas) {
  Named tensors;
  for (const auto dtype : {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
                           at::kFloat, at::kDouble}) {
    tensors.emplace_back(c10::toString(dtype), at::arange(15).remainder(2).view({3, 5}).to(dtype));
  }
  tensors.emplace_back("empty", at::zeros({0, 4}));
  tensors.emplace_back("scalar", at::scalar_tensor(3.5));
  tensors.emplace_back("transposed", at::rand({3, 5}).t());
  write_safetensors(in("x.safetensors"), tensors, {{"who", "me \xc3\xa9"}});
  const auto back = read_safetensors(in("x.safetensors"));
  EXPECT_EQ(back.metadata, (std::map<std::string, std::string>{{"who", "me \xc3\xa9"}}));
  ASSERT_EQ(back.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto read = read_tensor(in("x.safetensors"), name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
}

TEST_F(SafetensorsFile, EveryTensorIsAligned) {
  write_safetensors(in("x.safetensors"), {{"a", at::ones({3}, at::kBool)}, {"b", at::ones({1}, at::kDouble)}});
  const auto header = read_safetensors_header(in("x.safetensors"));
  EXPECT_EQ(header.data_start % 8, 0U);
  for (const auto& one : header.entries) EXPECT_EQ(one.begin % c10::elementSize(one.dtype), 0U) << one.name;
}

TEST_F(SafetensorsFile, TiedTensorsAreEachWhole) {
  const auto x = at::rand({4, 3});
  write_safetensors(in("x.safetensors"), {{"a", x}, {"b", x}, {"c", x.select(1, 0)}});
  EXPECT_TRUE(at::equal(read_tensor(in("x.safetensors"), "b"), x));
  EXPECT_TRUE(at::equal(read_tensor(in("x.safetensors"), "c"), x.select(1, 0)));
}

TEST_F(SafetensorsFile, RefusesHeaderLengthsBeyondTheFile) {
  for (const auto& length :
       std::vector<std::string>{std::string(8, '\xff'), std::string("\xf8\xff\xff\xff\xff\xff\xff\xff", 8),
                                std::string("\x03\0\0\0\0\0\0\0", 8)}) {
    const auto path = file_with("x.safetensors", length + "{}");
    EXPECT_THAT(message_of<InputError>([&] { read_safetensors(path); }), HasSubstr("expected at most 2"));
  }
  // A sparse file large enough for its header is held back by the cap.
  const auto path = file_with("x.safetensors", std::string("\0\0\0\0\1\0\0\0", 8));
  std::filesystem::resize_file(path, 5'000'000'000);
  EXPECT_THAT(message_of<InputError>([&] { read_safetensors(path); }), HasSubstr("expected at most 100000000"));
}

TEST_F(SafetensorsFile, RefusesWhatIsNotJsonOfTheFormat) {
  EXPECT_THAT(refusal("", 0), HasSubstr("expected '{'"));
  EXPECT_THAT(refusal("[]", 0), HasSubstr("expected '{'"));
  EXPECT_THAT(refusal("{", 0), HasSubstr("not JSON at byte"));
  EXPECT_THAT(refusal("{} {}", 0), HasSubstr("not JSON at byte"));
  EXPECT_THAT(refusal("{\"a\xff\": 1}", 0), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal("{" + std::string(100'000, '['), 0), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"a\": " + std::string(100'000, '['), 0), HasSubstr("got a list"));
  EXPECT_THAT(refusal("{\"a\": 1}", 0), HasSubstr("expected an object with dtype"));
  EXPECT_THAT(refusal("{\"\": {}}", 0), HasSubstr("without a name"));
  EXPECT_THAT(refusal("{\"a\": {}}", 0), HasSubstr("tensor 'a': expected all of dtype, shape and data_offsets"));
  EXPECT_THAT(refusal("{\"a\": {\"stride\": 1}}", 0), HasSubstr("'stride': unknown key"));
  EXPECT_THAT(refusal("{\"a\": {\"dtype\": 1}}", 0), HasSubstr("'dtype': got a number, expected text"));
  EXPECT_THAT(refusal("{\"a\": {\"shape\": [1.5]}}", 0), HasSubstr("expected whole numbers"));
  EXPECT_THAT(refusal("{\"a\": {\"shape\": [-1]}}", 0), HasSubstr("negative"));
  EXPECT_THAT(refusal("{\"a\": {\"shape\": [[1]]}}", 0), HasSubstr("got a list in a list"));
  EXPECT_THAT(refusal("{\"a\": {\"shape\": [18446744073709551616]}}", 0), HasSubstr("got 18446744073709551616"));
  EXPECT_THAT(refusal("{\"a\": {\"shape\": \"1\"}}", 0), HasSubstr("got text"));
  EXPECT_THAT(refusal("{\"a\": {\"shape\": {}}}", 0), HasSubstr("got an object"));
  EXPECT_THAT(refusal("{\"__metadata__\": {\"a\": 1}}", 0), HasSubstr("__metadata__ 'a': got a number, expected text"));
  EXPECT_THAT(refusal("{\"__metadata__\": {\"a\": {}}}", 0), HasSubstr("got an object, expected text"));
}

TEST_F(SafetensorsFile, RefusesDuplicateKeysOfEveryLevel) {
  const auto a = entry("a", "U8", "[0]", "[0, 0]");
  EXPECT_THAT(refusal("{" + a + ", " + a + "}", 0), HasSubstr("'a': stands twice"));
  EXPECT_THAT(refusal("{\"a\": {\"dtype\": \"U8\", \"dtype\": \"U8\"}}", 0), HasSubstr("'dtype': stands twice"));
  EXPECT_THAT(refusal("{\"__metadata__\": {\"k\": \"1\", \"k\": \"2\"}}", 0), HasSubstr("'k': stands twice"));
}

TEST_F(SafetensorsFile, ADtypeThatIsNotReadRefusesItsOwnTensorAlone) {
  for (const auto& [dtype, bytes] : std::map<std::string, int>{{"F4", 3},
                                                               {"F6_E2M3", 3},
                                                               {"F6_E3M2", 3},
                                                               {"F8_E5M2", 4},
                                                               {"F8_E4M3", 4},
                                                               {"F8_E8M0", 4},
                                                               {"U16", 8},
                                                               {"U32", 16},
                                                               {"U64", 32},
                                                               {"C64", 32},
                                                               {"F3_NEW", 5}}) {
    const std::string shape = dtype == "F4" ? "[6]" : "[4]", end = std::to_string(4 + bytes);
    const auto path =
        with("{" + entry("x", "F32", "[1]", "[0, 4]") + ", " + entry("scale", dtype, shape, "[4, " + end + "]") + "}",
             4 + static_cast<std::size_t>(bytes));
    EXPECT_TRUE(at::equal(read_tensor(path, "x"), at::zeros({1}))) << dtype;
    EXPECT_THAT(message_of<InputError>([&] { read_tensor(path, "scale"); }),
                HasSubstr("tensor 'scale': got dtype '" + dtype + "', expected one of BOOL, U8"));
    const auto all = read_all(path);
    ASSERT_EQ(all.tensors.size(), 1U) << dtype;
    EXPECT_EQ(all.tensors[0].first, "x");
    ASSERT_EQ(all.unread.size(), 1U) << dtype;
    EXPECT_EQ(all.unread[0].name, "scale");
    EXPECT_EQ(all.unread[0].dtype, dtype);
  }
}

TEST_F(SafetensorsFile, ATensorThatIsNotReadStillHasToFitTheFile) {
  EXPECT_THAT(refusal("{" + entry("a", "F8_E4M3", "[4]", "[0, 3]") + "}", 3), HasSubstr("got 3 bytes, expected 4"));
  EXPECT_THAT(refusal("{" + entry("a", "U64", "[1]", "[0, 4]") + "}", 4), HasSubstr("got 4 bytes, expected 8"));
  EXPECT_THAT(refusal("{" + entry("a", "F3_NEW", "[1]", "[0, 9]") + "}", 4), HasSubstr("expected them within the 4"));
}

TEST_F(SafetensorsFile, RefusesShapesThatWrapAround) {
  for (const auto& shape : std::vector<std::string>{"[4294967296, 4294967296]", "[4611686018427387904, 4]",
                                                    "[18446744073709551615]", "[0, 9223372036854775807, 9]"}) {
    EXPECT_THAT(refusal("{" + entry("a", "F32", shape, "[0, 0]") + "}", 0), HasSubstr("larger than any memory"))
        << shape;
  }
}

TEST_F(SafetensorsFile, RefusesOffsetsThatLieOutsideOrDisagree) {
  const auto with_offsets = [&](const std::string& offsets) {
    return refusal("{" + entry("a", "U8", "[4]", offsets) + "}", 4);
  };
  EXPECT_THAT(with_offsets("[0, 5]"), HasSubstr("expected them within the 4 bytes"));
  EXPECT_THAT(with_offsets("[4, 0]"), HasSubstr("expected them within"));
  EXPECT_THAT(with_offsets("[18446744073709551612, 18446744073709551615]"), HasSubstr("expected them within"));
  EXPECT_THAT(with_offsets("[0, 3]"), HasSubstr("got 3 bytes, expected 4 for shape (4) of U8"));
  EXPECT_THAT(with_offsets("[0]"), HasSubstr("got 1 data_offsets, expected 2"));
}

TEST_F(SafetensorsFile, RefusesOverlapsHolesAndUncoveredData) {
  const auto a = entry("a", "U8", "[2]", "[0, 2]");
  EXPECT_THAT(refusal("{" + a + ", " + entry("b", "U8", "[2]", "[1, 3]") + "}", 3),
              HasSubstr("'b': begins at byte 1 of the data, expected 2; it overlaps"));
  EXPECT_THAT(refusal("{" + a + ", " + entry("b", "U8", "[2]", "[3, 5]") + "}", 5), HasSubstr("there is a hole"));
  EXPECT_THAT(refusal("{" + a + "}", 3), HasSubstr("got 3 bytes of data, expected the 2"));
  EXPECT_THAT(refusal("{" + a + ", " + entry("b", "U8", "[2]", "[0, 2]") + "}", 2), HasSubstr("overlaps"));
}

TEST_F(SafetensorsFile, RefusesToWriteWhatItCouldNotRead) {
  const auto path = in("x.safetensors");
  const auto x = at::ones({1});
  const auto refused = [&](const Named& tensors) {
    return message_of<InputError>([&] { write_safetensors(path, tensors); });
  };
  EXPECT_THAT(refused({{"a", x}, {"a", x}}), HasSubstr("given twice"));
  EXPECT_THAT(refused({{"__metadata__", x}}), HasSubstr("cannot be stored under this name"));
  EXPECT_THAT(refused({{"a", at::zeros({1}, at::kComplexFloat)}}), HasSubstr("expected one of BOOL"));
  EXPECT_THAT(refused({{"a", at::Tensor()}}), HasSubstr("no tensor"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SafetensorsFile, RefusesEveryTruncation) {
  write_safetensors(in("x.safetensors"), {{"a", at::rand({3})}, {"b", at::ones({2}, at::kBool)}}, {{"k", "v"}});
  const auto whole = bytes_of(in("x.safetensors"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = file_with("cut.safetensors", whole.substr(0, size));
    EXPECT_THROW(read_safetensors(path), InputError) << size;
  }
}

TEST_F(SafetensorsFile, FlippedBytesAreReadOrRefusedNeverWorse) {
  write_safetensors(in("x.safetensors"), {{"a", at::rand({3})}, {"b", at::ones({2}, at::kBool)}}, {{"k", "v"}});
  const auto whole = bytes_of(in("x.safetensors"));
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    auto bytes = whole;
    for (int flips = 0; flips < 2; ++flips) {
      auto& byte = bytes[random() % bytes.size()];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
    }
    const auto path = file_with("flipped.safetensors", bytes);
    try {
      read_safetensors(path);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace headwright::tensor_io
