// The real executable draws masks and saves weights.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"
#include "tensor_io/tensor_io.h"

namespace headwright::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class MaskCommand : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments) {
    return run_command(quoted(HEADWRIGHT_BUILD_DIR "/runner") + " " + arguments, in(""), in(""));
  }
  static std::string shipped(const std::string& name) { return quoted(HEADWRIGHT_SOURCE_DIR "/configs/" + name); }
};

TEST_F(MaskCommand, DrawsTheMaskOfEachLayer) {
  const auto drawn = run("mask --seq-len 5 " + shipped("attention/sliding_window.yaml"));
  EXPECT_EQ(drawn.exit_code, 0) << drawn.standard_error;
  EXPECT_THAT(drawn.standard_output, HasSubstr("blocks.0.attention: window(4)\n56% of 5 x 5 pairs visible"));
  EXPECT_THAT(drawn.standard_output, HasSubstr("  #....\n  ##...\n  ###..\n  ####.\n  .####\n"));
}

TEST_F(MaskCommand, DrawsEachLayerAtTheLengthsAndPaddingOfWhatItReads) {
  const auto outcome = run("mask --json " + shipped("models/encoder_decoder.yaml") +
                           " --set input.lengths=[3,4] --set input.memory.lengths=[5,7]");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.standard_error;
  const auto masks = json::parse(outcome.standard_output)["masks"];
  ASSERT_EQ(masks.size(), 3U);
  EXPECT_EQ(masks[0]["module"], "encoder.blocks.0.attention");
  EXPECT_EQ(masks[0]["rows"], json(std::vector<std::string>(7, "#####..")));
  EXPECT_EQ(masks[1]["rows"], json({"#...", "##..", "###.", "###."}));
  EXPECT_EQ(masks[2]["module"], "blocks.0.cross_attention");
  EXPECT_EQ(masks[2]["rows"], json(std::vector<std::string>(4, "#####..")));
}

TEST_F(MaskCommand, PrintsDensityAndTilesAsJson) {
  const auto outcome = run("mask --json --seq-len 1024 --cells 4 " + shipped("models/tiny_gpt.yaml"));
  const auto masks = json::parse(outcome.standard_output)["masks"];
  ASSERT_EQ(masks.size(), 2U);  // two kinds of blocks
  EXPECT_EQ(masks[0]["mask"], "window(8)");
  EXPECT_EQ(masks[1]["mask"], "causal");
  EXPECT_NEAR(masks[1]["density"].get<double>(), 1025.0 / 2048, 1e-12);
  EXPECT_EQ(masks[1]["tiles"], json({{"size", 128}, {"empty", 28}, {"partial", 8}, {"full", 28}}));
  EXPECT_EQ(masks[1]["rows"], json({"+...", "#+..", "##+.", "###+"}));
}

TEST_F(MaskCommand, WritesAPictureOfOneMask) {
  const auto svg = in("m.svg").string();
  EXPECT_EQ(run("mask " + shipped("attention/bigbird.yaml") + " --svg " + svg).exit_code, 0);
  EXPECT_THAT(bytes_of(svg), HasSubstr("<svg xmlns="));
  const auto two = run("mask " + shipped("models/tiny_gpt.yaml") + " --svg " + svg);
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.standard_error, HasSubstr("choose with --layer one of blocks.0.attention, blocks.1.attention"));
  EXPECT_EQ(run("mask " + shipped("models/tiny_gpt.yaml") + " --layer blocks.1.attention --svg " + svg).exit_code, 0);
}

TEST_F(MaskCommand, DrawsWhatAVariantSaysWhateverItsParameters) {
  const auto lower = HasSubstr("  #...\n  ##..\n  ###.\n  ####\n");
  for (const std::string causal : {"lessons/causal_attention", "lessons/multi_head_attention", "attention/retention"}) {
    EXPECT_THAT(run("mask --seq-len 4 " + shipped(causal + ".yaml")).standard_output, lower) << causal;
  }
  EXPECT_THAT(run("mask --seq-len 2 " + shipped("attention/fourier.yaml")).standard_output, HasSubstr("  ##\n  ##\n"));
  const auto none =
      file_with("none.yaml", "name: none\nmodel: {d_model: 4, blocks: {b: {order: plain, feed_forward: swiglu}}}\n");
  EXPECT_THAT(run("mask " + quoted(none)).standard_error, HasSubstr("no layer of this model is an attention"));
}

TEST_F(MaskCommand, ForwardSavesTheWeightsThatAreAskedFor) {
  const auto file = in("w.safetensors");
  const auto forward = run("forward " + shipped("models/tiny_gpt.yaml") + " --attention-out " + quoted(file.string()) +
                           " --layers 1,blocks.2.attention --heads 0,3 --queries 5 --json");
  ASSERT_EQ(forward.exit_code, 0) << forward.standard_error;
  const auto saved = tensor_io::read_all(file).tensors;
  ASSERT_EQ(saved.size(), 2U);
  EXPECT_EQ(saved[0].first, "blocks.1.attention");
  EXPECT_EQ(saved[0].second.sizes(), (std::vector<std::int64_t>{2, 2, 1, 6}));
  const auto choice = json::parse(forward.standard_output)["kernel_choices"]["blocks.0.attention"];
  EXPECT_EQ(choice,
            json({{"requested", "auto"}, {"effective", "blockwise"}, {"reason", "skips what window(8) hides"}}));
  const auto alone = run("forward " + shipped("models/tiny_gpt.yaml") + " --heads 0");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.standard_error, HasSubstr("--attention-out"));
}

}  // namespace
}  // namespace headwright::test
