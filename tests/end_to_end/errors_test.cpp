// How each command fails: as one JSON object where --json asks for one, in bounded and printable text otherwise.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "helpers/command.h"
#include "helpers/commands.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kRunner = quoted(HEADWRIGHT_BUILD_DIR "/runner");
const std::string kSoftmax = quoted(HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml");

class Errors : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments) { return run_command(kRunner + " " + arguments, in(""), in("")); }

  /// The error object that the command prints with --json; it ends with the same code without.
  json errors_of(const std::string& arguments) {
    const auto with = run(arguments + " --json"), without = run(arguments);
    EXPECT_NE(with.exit_code, 0) << arguments;
    EXPECT_EQ(with.exit_code, without.exit_code) << arguments;
    EXPECT_EQ(without.standard_output, "") << arguments;
    EXPECT_NE(without.standard_error, "") << arguments;
    const auto object = json::parse(with.standard_output, nullptr, false);
    EXPECT_TRUE(object.is_object()) << arguments << ": " << with.standard_output;
    if (!object.is_object()) return json::object();
    EXPECT_EQ(object["exit_code"], with.exit_code) << arguments;
    EXPECT_FALSE(object["errors"].empty()) << arguments;
    for (const auto& error : object["errors"]) {
      for (const auto* key : {"file", "line", "column", "path", "message", "suggestion"}) {
        EXPECT_TRUE(error.contains(key)) << arguments << ": " << key;
      }
      EXPECT_NE(error["message"], "") << arguments;
    }
    return object;
  }
};

TEST_F(Errors, OfEveryCommandAreOneJsonObject) {
  const std::string bad = kSoftmax + " --set model.d_modle=3", nowhere = "--plugin-path nowhere ";
  const std::map<std::string, std::string> failing{{"forward", "forward " + bad},
                                                   {"export", "export " + bad + " -o a.pt"},
                                                   {"compare", "compare " + kSoftmax + " nowhere.yaml"},
                                                   {"lesson", "lesson 9.9.9"},
                                                   {"bench", "bench " + bad},
                                                   {"show", "show " + bad},
                                                   {"validate", "validate " + bad},
                                                   {"mask", "mask " + bad},
                                                   {"list", nowhere + "list"},
                                                   {"describe", "describe sofmax"},
                                                   {"check", "check sofmax"},
                                                   {"new-plugin", "new-plugin class --kind norm"},
                                                   {"schema", nowhere + "schema -o schema.json"},
                                                   {"seal", "seal nowhere.so"},
                                                   {"inspect", "inspect nowhere.pt"},
                                                   {"doctor", nowhere + "doctor"},
                                                   {"completion", "completion tcsh"}};
  for (const auto& command : commands_of(kRunner, in(""))) {
    ASSERT_TRUE(failing.contains(command)) << "how does '" << command << "' fail?";
    errors_of(failing.at(command));
    const auto usage = errors_of(command + " --no-such-option");
    EXPECT_EQ(usage["exit_code"], 2) << command;
    EXPECT_THAT(usage["errors"][0]["message"].get<std::string>(), HasSubstr("--no-such-option"));
  }
  EXPECT_EQ(errors_of("")["exit_code"], 2);
  EXPECT_EQ(errors_of("forwrd")["exit_code"], 2);
}

TEST_F(Errors, OfAConfigKeepTheirPlaceAsJson) {
  const auto error = errors_of("forward " + kSoftmax + " --set model.d_modle=3")["errors"][0];
  EXPECT_EQ(error["file"], "--set model.d_modle=3");
  EXPECT_EQ(error["line"], 1);
  EXPECT_EQ(error["path"], "model.d_modle");
  EXPECT_EQ(error["suggestion"], "d_model");
}

TEST_F(Errors, OfEachKindKeepTheirExitCodeAsJson) {
  const auto gpt2 = quoted(HEADWRIGHT_SOURCE_DIR "/configs/models/gpt2_small.yaml");
  EXPECT_EQ(errors_of("forward nowhere.yaml")["exit_code"], 2);
  EXPECT_EQ(errors_of("--plugin-path nowhere forward " + kSoftmax)["exit_code"], 3);
  EXPECT_EQ(errors_of("--plugin-path nowhere validate " + kSoftmax)["exit_code"], 3);
  EXPECT_EQ(errors_of("--plugin-path nowhere validate " + kSoftmax)["valid"], false);
  EXPECT_EQ(errors_of("forward " + gpt2 + " --set model.d_model=786432")["exit_code"], 4);
  EXPECT_EQ(errors_of("forward " + kSoftmax + " -o nowhere/y.npy")["exit_code"], 1);
}

TEST_F(Errors, ThatAreManyAreTheFirstTenAndACount) {
  std::string yaml = "name: many\nmodel: { d_model: 8, blocks: { b: { attention: softmax } } }\n",
              plugins = "plugins: [";
  for (int i = 0; i < 2000; ++i) yaml += "key_" + std::to_string(i) + ": 1\n";
  for (int i = 0; i < 2000; ++i)
    plugins += (i ? ", " : "") + std::string("nowhere/") + std::string(500, 'x') + std::to_string(i);
  file_with("keys.yaml", yaml);
  file_with("plugins.yaml", "name: many\n" + plugins + "]\nmodel: { d_model: 8 }\n");
  for (const std::string command : {"forward", "validate", "show"}) {
    for (const std::string config : {"keys.yaml", "plugins.yaml"}) {
      const auto error = run(command + " " + config).standard_error;
      EXPECT_LE(std::ranges::count(error, '\n'), 11) << command << config;
      EXPECT_LT(error.size(), 50'000U) << command << config;
      EXPECT_THAT(error, testing::ContainsRegex("\\.\\.\\. and 199[0-9] more")) << command << config;
      EXPECT_LT(run(command + " " + config + " --json").standard_output.size(), 2'000'000U) << command << config;
    }
  }
  EXPECT_EQ(errors_of("forward keys.yaml")["errors"].size(), 1000U);
}

// A name that would clear the screen, ring the bell, and turn the direction of text around.
constexpr auto kName = R"(name: "a\e[2Jb\ac\u202ed")";

TEST_F(Errors, AndResultsCarryNoCodesOfTheConfigToTheTerminal) {
  auto config = bytes_of(HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml");
  const auto at = config.find("name: softmax");
  ASSERT_NE(at, std::string::npos);
  file_with("a.yaml", config.replace(at, 13, kName));
  file_with("b\x1b[2J.yaml", "name: b\nnmae: \"\\e[2J\"\n");
  for (const std::string command : {"forward a.yaml",
                                    "validate a.yaml",
                                    "show a.yaml",
                                    "show a.yaml --origins",
                                    "mask a.yaml",
                                    "compare a.yaml a.yaml",
                                    "export a.yaml -o a.pt",
                                    "inspect a.pt",
                                    "export a.yaml -o a.safetensors",
                                    "inspect a.safetensors",
                                    "bench a.yaml --repeats 1 --warm-up 0 --no-backward",
                                    "bench a.yaml --repeats 1 --warm-up 0 --format csv",
                                    "bench a.yaml --repeats 1 --warm-up 0 --format markdown",
                                    "forward a.yaml --set run.kernel=magic",
                                    "forward b*.yaml",
                                    "validate b*.yaml",
                                    "describe $'\\e[2J'",
                                    "inspect $'\\e[2J'",
                                    "forward a.yaml --input $'\\e[2J.npy'",
                                    "--plugin-path $'\\e[2J' list",
                                    "forward a.yaml --json",
                                    "mask a.yaml --json"}) {
    const auto outcome = run_command("bash -c " + quoted(kRunner + " " + command), in(""), in(""));
    EXPECT_NE(outcome.standard_output + outcome.standard_error, "") << command;
    for (const auto& text : {outcome.standard_output, outcome.standard_error}) {
      EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\a")),
                              Not(HasSubstr(std::string("\xe2\x80").append("\xae")))))
          << command;
    }
  }
  EXPECT_THAT(run("forward a.yaml").standard_output, HasSubstr("a\\x1b[2Jb\\x07c\\u202ed"));
}

TEST_F(Errors, WeightsGivenAsAConfigAreNamedByEveryCommandThatTakesOne) {
  ASSERT_EQ(run("export " + kSoftmax + " -o w.safetensors").exit_code, 0);
  ASSERT_EQ(run("export " + kSoftmax + " -o tiny.pt").exit_code, 0);
  ASSERT_EQ(run("forward " + kSoftmax + " -o x.npy").exit_code, 0);
  file_with("m.gguf", std::string("GGUF\x03\0\0\0", 8));
  const std::map<std::string, std::string> kinds{{"w.safetensors", "is a file of tensors (.safetensors)"},
                                                 {"tiny.pt", "is a model or weights as torch saves them"},
                                                 {"x.npy", "is a tensor (.npy)"},
                                                 {"m.gguf", "is a model for llama.cpp (.gguf)"},
                                                 {".", "is a folder"}};
  for (const auto& [file, what] : kinds) {
    for (const std::string& command :
         {"validate " + file, "forward " + file, "show " + file, "mask " + file, "bench " + file,
          "bench " + file + " --vary seq_len=4", "export " + file + " -o z.pt"}) {
      const auto outcome = run(command);
      EXPECT_EQ(outcome.exit_code, 2) << command;
      EXPECT_THAT(outcome.standard_error, AllOf(HasSubstr(file + ": " + what), HasSubstr("expected a YAML config")))
          << command;
    }
  }
  for (const std::string file : {"tiny.pt", "m.gguf", "."}) {
    EXPECT_THAT(run("compare " + file + " " + file).standard_error, HasSubstr(kinds.at(file))) << file;
  }
  EXPECT_THAT(run("compare " + kSoftmax + " w.safetensors").standard_error,
              HasSubstr("w.safetensors is a file of tensors and "));
}

TEST_F(Errors, APluginFolderWithoutAPluginIsRefusedWhereItIsNamed) {
  std::filesystem::create_directory(in("empty"));
  file_with("a.yaml",
            "name: a\nplugins: [empty]\nmodel: { d_model: 8, blocks: { b: { feed_forward: relu, order: plain } } }\n");
  for (const std::string& line :
       {kRunner + " --plugin-path empty list", "HEADWRIGHT_PLUGIN_PATH=empty " + kRunner + " list",
        kRunner + " forward a.yaml --random 1,2,8"}) {
    const auto outcome = run_command(line, in(""), in(""));
    EXPECT_EQ(outcome.exit_code, 3) << line << outcome.standard_error;
    EXPECT_THAT(outcome.standard_error, HasSubstr("empty': the folder holds no plugin")) << line;
  }
}

TEST_F(Errors, AToleranceIsAFiniteNumber) {
  for (const std::string tolerance : {"nan", "NaN", "-nan", "inf", "-inf", "infinity", "-1", "1e999", "x", "0x"}) {
    const auto outcome = run("compare " + kSoftmax + " " + kSoftmax + " --tolerance=" + tolerance);
    EXPECT_EQ(outcome.exit_code, 2) << tolerance;
    EXPECT_THAT(outcome.standard_error, HasSubstr("--tolerance: ")) << tolerance;
  }
  EXPECT_EQ(run("compare " + kSoftmax + " " + kSoftmax + " --tolerance=0").exit_code, 0);
}

}  // namespace
}  // namespace headwright::test
