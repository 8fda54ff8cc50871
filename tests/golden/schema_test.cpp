// The JSON Schema is the approved one, and accepts what the reader accepts.
#include <gtest/gtest.h>

#include "helpers/approved.h"
#include "helpers/command.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

const std::string kRunner = quoted(HEADWRIGHT_BUILD_DIR "/runner");

using Schema = TemporaryFolder;

TEST_F(Schema, TheShippedOneIsWhatTheRunnerWrites) {
  const auto outcome = run_command(kRunner + " schema", in(""), in(""));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.standard_error;
  expect_approved(outcome.standard_output, HEADWRIGHT_SOURCE_DIR "/configs/schema.json");
}

TEST_F(Schema, AnIndependentValidatorAcceptsEveryShippedConfigAndNoUnknownKey) {
  std::string line = quoted(HEADWRIGHT_SOURCE_DIR "/.venv/bin/python") + " " +
                     quoted(HEADWRIGHT_SOURCE_DIR "/tests/golden/check_schema.py") + " " +
                     quoted(HEADWRIGHT_SOURCE_DIR "/configs/schema.json");
  for (const auto& config : shipped_configs()) line += " " + quoted(config.string());
  const auto outcome = run_command(line, in(""), in(""));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.standard_output << outcome.standard_error;
}

TEST(ShippedConfigs, NameTheSchemaInTheirFirstLine) {
  for (const auto& config : shipped_configs()) {
    const auto text = support::read_file(config, 1 << 20);
    EXPECT_TRUE(text.starts_with("# yaml-language-server: $schema=../schema.json\n")) << config;
  }
}

}  // namespace
}  // namespace headwright::test
