// What an exported file says about itself.
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/export.h>

#include <algorithm>
#include <random>

#include "tensor_io/tensor_io.h"
#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

using test::message_of;
using testing::AnyOf;
using testing::HasSubstr;

class Inspect : public Exports {
 protected:
  Report write_as(const std::string& file, const std::string& yaml = kGpt) {
    const auto plan = test::plan_of(yaml);
    return write(*model::build(plan), plan, format_for(file), in(file));
  }
  std::string refusal(const std::string& name, const std::string& bytes) {
    const auto path = file_with(name, bytes);
    return message_of<InputError>([&] { inspect(path); });
  }
};

TEST_F(Inspect, TellsWhatExportWrote) {
  for (const std::string file : {"model.pt", "model.safetensors"}) {
    const auto report = write_as(file);
    const auto seen = inspect(in(file));
    EXPECT_TRUE(seen.valid) << seen.detail;
    EXPECT_EQ(seen.format, report.format);
    EXPECT_EQ(seen.sha256, report.sha256);
    EXPECT_EQ(seen.sha256.size(), 64U);
    EXPECT_EQ(seen.parameters, report.parameters);
    EXPECT_EQ(seen.checked.size(), report.checked.size());
    EXPECT_TRUE(seen.dynamic);
    EXPECT_EQ(seen.versions.at("torch").substr(0, 4), "2.13");
    EXPECT_TRUE(seen.versions.contains("headwright") && seen.versions.contains("abi"));
    EXPECT_EQ(test::plan_of(seen.config).model.blocks.size(), 2U);
  }
}

TEST_F(Inspect, TwoExportsOfOneConfigHaveOneDigest) {
  EXPECT_EQ(write_as("a.pt").sha256, write_as("b.pt").sha256);
  EXPECT_EQ(write_as("a.safetensors").sha256, write_as("b.safetensors").sha256);
}

TEST_F(Inspect, SeesAChangeInEveryRecord) {
  write_as("model.pt", layer("attention: softmax"));
  const auto whole = bytes_of(in("model.pt"));
  caffe2::serialize::PyTorchStreamReader reader(in("model.pt").string());
  const auto records = reader.getAllRecords();
  EXPECT_GT(records.size(), 10U);
  for (const auto& record : records) {
    if (record == caffe2::serialize::kSerializationIdRecordName) continue;  // derived, and of no effect
    auto bytes = whole;
    bytes[reader.getRecordOffset(record) + reader.getRecordSize(record) / 8] ^= 1;  // code is compressed, to a quarter
    const auto seen = inspect(file_with("changed.pt", bytes));
    EXPECT_FALSE(seen.valid) << record;
    EXPECT_FALSE(seen.detail.empty()) << record;
  }
}

TEST_F(Inspect, SeesAChangeInEveryTensorAndText) {
  write_as("model.safetensors");
  const auto whole = bytes_of(in("model.safetensors"));
  const auto header = tensor_io::read_safetensors_header(in("model.safetensors"));
  for (const auto& entry : header.entries) {
    auto bytes = whole;
    bytes[header.data_start + entry.end - 1] ^= 1;
    EXPECT_FALSE(inspect(file_with("changed.safetensors", bytes)).valid) << entry.name;
  }
  auto bytes = whole;
  bytes[bytes.find("small_gpt")] = 'S';
  EXPECT_THAT(inspect(file_with("changed.safetensors", bytes)).detail, HasSubstr("was changed after it was written"));
}

TEST_F(Inspect, SaysWhatItFoundInstead) {
  EXPECT_THAT(refusal("x.pt", ""), HasSubstr("found an empty file, expected a file written by 'runner export'"));
  EXPECT_THAT(refusal("x.pt", "name: hello\n"), HasSubstr("found a file that begins with 'name: hello"));
  EXPECT_THAT(refusal("x.pt", "PK\x03\x04 and then something else entirely"), HasSubstr("cut off?"));
  EXPECT_THAT(message_of<InputError>([&] { inspect(in("")); }), HasSubstr("found a folder"));
  EXPECT_THAT(message_of<InputError>([&] { inspect(in("none.pt")); }), HasSubstr("is it there"));
}

TEST_F(Inspect, KnowsOtherFilesOfTheSameFormats) {
  caffe2::serialize::PyTorchStreamWriter checkpoint(in("checkpoint.pt").string());
  checkpoint.writeRecord("data.pkl", "x", 1);
  checkpoint.writeEndOfFile();
  EXPECT_THAT(message_of<InputError>([&] { inspect(in("checkpoint.pt")); }), HasSubstr("found a PyTorch checkpoint"));

  torch::jit::Module module("Other");
  module.define("def forward(self, x):\n    return x\n");
  torch::jit::ExportModule(module, in("other.pt").string());
  EXPECT_THAT(message_of<InputError>([&] { inspect(in("other.pt")); }),
              HasSubstr("found TorchScript that headwright did not write"));

  tensor_io::write_safetensors(in("other.safetensors"), {{"a", at::ones({2})}});
  EXPECT_THAT(message_of<InputError>([&] { inspect(in("other.safetensors")); }),
              HasSubstr("that headwright did not write"));
}

TEST_F(Inspect, RefusesTruncations) {
  for (const std::string file : {"model.pt", "model.safetensors"}) {
    write_as(file, layer("attention: simple_self_attention"));
    const auto whole = bytes_of(in(file));
    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 100) {
      EXPECT_THAT(refusal("cut", whole.substr(0, size)), AnyOf(HasSubstr("found"), HasSubstr("expected"))) << size;
    }
  }
}

TEST_F(Inspect, SurvivesFlippedBytes) {
  std::mt19937 random(11);
  for (const std::string file : {"model.pt", "model.safetensors"}) {
    const auto sha256 = write_as(file, layer("attention: softmax")).sha256;
    const auto whole = bytes_of(in(file));
    int seen = 0;
    for (int i = 0; i < 150; ++i) {
      auto bytes = whole;
      for (int flips = 0; flips < 2; ++flips) {
        auto& byte = bytes[random() % bytes.size()];
        byte = static_cast<char>(byte ^ (1 << random() % 8));
      }
      try {
        const auto found = inspect(file_with("flipped", bytes));
        seen += found.valid ? 0 : 1;
        if (found.valid) {
          EXPECT_EQ(found.sha256, sha256);  // the flips met padding or the zip's own tables
        }
      } catch (const InputError&) {
        ++seen;
      }
    }
    EXPECT_GT(seen, 60) << file;
  }
}

}  // namespace
}  // namespace headwright::exporter
