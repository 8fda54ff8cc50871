// .npy files, good and damaged.
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
using Npy = test::TemporaryFolder;

std::string npy(const std::string& dict, const std::string& data, char major = 1) {
  std::string file("\x93NUMPY", 6);
  file += major;
  file += '\0';
  const auto size = dict.size();
  file += static_cast<char>(size & 0xff);
  file += static_cast<char>(size >> 8);
  if (major > 1) file += std::string(2, '\0');
  return file + dict + data;
}

TEST_F(Npy, EveryDtypeComesBackAsItWas) {
  for (const auto dtype :
       {at::kBool, at::kChar, at::kShort, at::kInt, at::kLong, at::kByte, at::kHalf, at::kFloat, at::kDouble}) {
    const auto x = at::arange(30).remainder(2).view({2, 3, 5}).to(dtype);
    write_npy(in("x.npy"), x);
    const auto y = read_npy(in("x.npy"));
    EXPECT_EQ(y.scalar_type(), dtype);
    EXPECT_TRUE(at::equal(x, y)) << c10::toString(dtype);
  }
}

TEST_F(Npy, KeepsEmptyScalarAndTransposedTensors) {
  for (const auto& x :
       {at::zeros({0, 3}), at::scalar_tensor(7.5), at::zeros({2, 0, 4}), at::rand({3, 5}).t(), at::rand({7})}) {
    write_npy(in("x.npy"), x);
    const auto y = read_npy(in("x.npy"));
    EXPECT_EQ(y.sizes(), x.sizes());
    EXPECT_TRUE(at::equal(x, y));
  }
}

TEST_F(Npy, DataBeginsAtAMultipleOf64) {
  write_npy(in("x.npy"), at::zeros({3}));
  const auto bytes = bytes_of(in("x.npy"));
  EXPECT_EQ((bytes.size() - 12) % 64, 0U);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
}

TEST_F(Npy, ReadsFortranOrderAndAllVersions) {
  const std::string data("\x01\x02\x03\x04\x05\x06", 6);
  const auto path = file_with("f.npy", npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  EXPECT_TRUE(at::equal(read_npy(path), at::tensor({1, 3, 5, 2, 4, 6}, at::kChar).view({2, 3})));
  for (const char major : {'\2', '\3'}) {
    const auto other =
        file_with("v.npy", npy("{\"shape\": (6,), 'fortran_order': False, 'descr': '|u1'}", data, major));
    EXPECT_TRUE(at::equal(read_npy(other), at::tensor({1, 2, 3, 4, 5, 6}, at::kByte)));
  }
}

TEST_F(Npy, SaysWhichDtypesItCannotRead) {
  const auto message = [&](const std::string& descr) {
    const auto path =
        file_with("x.npy", npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}", "12345678"));
    return message_of<InputError>([&] { read_npy(path); });
  };
  EXPECT_THAT(message("'|O'"), HasSubstr("Python objects"));
  EXPECT_THAT(message("[('a', '<f4')]"), HasSubstr("structured array"));
  EXPECT_THAT(message("'>f8'"), HasSubstr("big-endian '>f8', expected little-endian; save x.astype('<f8')"));
  EXPECT_THAT(message("'<c8'"), HasSubstr("got dtype '<c8', expected bool, int8"));
  EXPECT_THAT(message("'<U2'"), HasSubstr("got dtype '<U2'"));
  EXPECT_THAT(message("''"), HasSubstr("got dtype ''"));
}

TEST_F(Npy, RefusesBfloat16AndNamesTheOtherFormat) {
  const auto message = message_of<InputError>([&] { write_npy(in("x.npy"), at::zeros({2}, at::kBFloat16)); });
  EXPECT_THAT(message, HasSubstr("write a .safetensors file instead"));
  EXPECT_FALSE(std::filesystem::exists(in("x.npy")));
}

TEST_F(Npy, RefusesShapesThatWrapAround) {
  for (const auto& shape : std::vector<std::string>{"(4294967296, 4294967296)", "(4611686018427387904, 4)",
                                                    "(0, 9223372036854775807, 9)"}) {
    const auto path = file_with("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", ""));
    EXPECT_THAT(message_of<InputError>([&] { read_npy(path); }), HasSubstr("larger than any memory"));
  }
}

TEST_F(Npy, RefusesHeadersThatAreNotExactlyTheFormat) {
  const std::string rest = ", 'fortran_order': False, 'shape': (1,)}";
  for (const auto& dict : std::vector<std::string>{
           "", "{}", "{'descr': '|u1'" + rest + "x", "{'descr': '|u1', 'descr': '|u1'" + rest,
           "{'descr': '|u1', 'more': 1" + rest, "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1,",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "{'descr': '|u1', 'fortran_order': False}", "{'descr': '|u1"}) {
    const auto path = file_with("x.npy", npy(dict, "a"));
    EXPECT_THAT(message_of<InputError>([&] { read_npy(path); }), HasSubstr("x.npy: .npy header")) << dict;
  }
}

TEST_F(Npy, RefusesMoreAndFewerBytesThanTheShapeSays) {
  const std::string dict = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}";
  for (const auto& data : std::vector<std::string>{"", "abc", "abcde"}) {
    const auto path = file_with("x.npy", npy(dict, data));
    EXPECT_THAT(message_of<InputError>([&] { read_npy(path); }), HasSubstr("expected 4 for shape (2) of int16"));
  }
}

TEST_F(Npy, RefusesABoolThatIsNeitherZeroNorOne) {
  const auto path = file_with("x.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\x01\x07"));
  EXPECT_THAT(message_of<InputError>([&] { read_npy(path); }), HasSubstr("index 1: got byte 7"));
}

TEST_F(Npy, RefusesWhatIsNoFile) {
  EXPECT_THAT(message_of<InputError>([&] { read_npy(in("none.npy")); }), HasSubstr("no such file"));
  EXPECT_THAT(message_of<InputError>([&] { read_npy(in("")); }), HasSubstr("got a folder"));
  EXPECT_THAT(message_of<InputError>([&] { read_npy(file_with("x.npy", "")); }), HasSubstr("got 0 bytes"));
  EXPECT_THAT(message_of<InputError>([&] { read_npy(file_with("x.npy", "hello, this is text")); }),
              HasSubstr("got 'hello,'"));
}

TEST_F(Npy, RefusesEveryTruncation) {
  write_npy(in("x.npy"), at::rand({3, 2}));
  const auto whole = bytes_of(in("x.npy"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = file_with("cut.npy", whole.substr(0, size));
    EXPECT_THROW(read_npy(path), InputError) << size;
  }
}

TEST_F(Npy, FlippedBytesAreReadOrRefusedNeverWorse) {
  write_npy(in("x.npy"), at::rand({3, 2}));
  const auto whole = bytes_of(in("x.npy"));
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    auto bytes = whole;
    auto& byte = bytes[random() % 80];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    const auto path = file_with("flipped.npy", bytes);
    try {
      read_npy(path);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace headwright::tensor_io
