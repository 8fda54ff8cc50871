// Tensors read and written by the ending of the file's name.
#include "tensor_io/tensor_io.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "headwright/errors.h"
#include "helpers/temporary_folder.h"

namespace headwright::tensor_io {
namespace {

using test::message_of;
using testing::HasSubstr;
using TensorFile = test::TemporaryFolder;

TEST_F(TensorFile, AnUnknownEndingListsTheKnown) {
  EXPECT_THAT(message_of<InputError>([] { read_tensor("x.pt"); }),
              HasSubstr("x.pt: got the ending '.pt', expected .npy or .safetensors"));
  EXPECT_THAT(message_of<InputError>([] { read_all("x"); }), HasSubstr("got no ending"));
  EXPECT_THAT(message_of<InputError>([] { write_tensors("x.bin", {}); }), HasSubstr("expected .npy or .safetensors"));
}

TEST_F(TensorFile, AMissingNameSaysWhichThereAre) {
  const auto path = in("x.safetensors");
  write_tensors(path, {{"weights", at::ones({2})}, {"bias", at::ones({1})}});
  EXPECT_THAT(message_of<InputError>([&] { read_tensor(path, "weight"); }),
              HasSubstr("did you mean 'weights'?; it holds weights, bias"));
  EXPECT_THAT(message_of<InputError>([&] { read_tensor(path); }),
              HasSubstr("got 2 tensors, expected one or the name of one"));
}

TEST_F(TensorFile, OneTensorNeedsNoName) {
  write_tensors(in("x.safetensors"), {{"anything", at::ones({2})}});
  EXPECT_TRUE(at::equal(read_tensor(in("x.safetensors")), at::ones({2})));
  write_tensors(in("x.npy"), {{"y", at::ones({2})}});
  EXPECT_EQ(read_all(in("x.npy")).tensors.front().first, "y");
}

TEST_F(TensorFile, ANpyHoldsOneTensorWithoutAName) {
  EXPECT_THAT(message_of<InputError>([&] { write_tensors(in("x.npy"), {}); }), HasSubstr("holds one tensor, got 0"));
  write_tensors(in("x.npy"), {{"y", at::ones({2})}});
  EXPECT_THAT(message_of<InputError>([&] { read_tensor(in("x.npy"), "y"); }), HasSubstr("without a name"));
}

TEST_F(TensorFile, AgreesWithNumpyAndSafetensorsOfPython) {
  at::manual_seed(3);
  const Named tensors{
      {"f", at::rand({2, 3})},         {"h", at::rand({4}).to(at::kHalf)},         {"i", at::arange(6).view({3, 2})},
      {"b", at::ones({2}, at::kBool)}, {"s", at::scalar_tensor(2.5, at::kDouble)}, {"e", at::zeros({0, 2})}};
  write_safetensors(in("cpp.safetensors"), tensors, {{"k", "v"}});
  for (const auto& [name, tensor] : tensors) write_npy(in("cpp_" + name + ".npy"), tensor);
  const std::string command = std::string(HEADWRIGHT_SOURCE_DIR "/.venv/bin/python " HEADWRIGHT_SOURCE_DIR
                                                                "/tests/unit/tensor_io/check_with_python.py ") +
                              in("").string();
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(bugprone-command-processor): Python is what is asked
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(at::equal(read_tensor(in("python.safetensors"), name), tensor)) << name;
    EXPECT_TRUE(at::equal(read_npy(in("python_" + name + ".npy")), tensor)) << name;
    EXPECT_TRUE(at::equal(read_npy(in("fortran_" + name + ".npy")), tensor)) << name;
  }
}

}  // namespace
}  // namespace headwright::tensor_io
