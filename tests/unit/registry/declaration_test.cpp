// What a plugin must not declare.
#include "registry/declaration.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

namespace headwright::registry {
namespace {

using testing::HasSubstr;

/// A variant with one row of each type, as it should be.
VariantSpec good() {
  VariantSpec spec{.name = "good", .kind = Kind::norm, .summary = "one line", .source = "nowhere"};
  spec.params = {
      {.name = "flag", .type = ParamType::boolean, .default_value = {true}},
      {.name = "count", .type = ParamType::integer, .default_value = {std::int64_t{3}}, .limits = between(1, 3)},
      {.name = "rate", .type = ParamType::number, .default_value = {0.5}, .limits = probability()},
      {.name = "mode", .type = ParamType::text, .default_value = {std::string("b")}, .limits = one_of("a", "b")},
      {.name = "sizes",
       .type = ParamType::integer,
       .is_list = true,
       .default_value = {std::vector<Value>{{std::int64_t{1}}, {std::int64_t{2}}}},
       .limits = at_least(1)},
      {.name = "width", .type = ParamType::integer, .is_optional = true, .limits = at_least(1)},
      {.name = "needed",
       .type = ParamType::integer,
       .default_value = {std::int64_t{0}},
       .limits = at_least(1) | required()},
      {.name = "mask", .type = ParamType::mask, .default_value = {Mask()}},
      {.name = "modifiers", .type = ParamType::modifiers, .default_value = {std::vector<ScoreModifier>{}}},
      {.name = "position", .type = ParamType::component, .default_value = {Component{}}},
      {.name = "gain",
       .type = ParamType::number_or_text,
       .default_value = {std::string("auto")},
       .limits = positive() | one_of("auto")},
      {.name = "norm", .type = ParamType::component, .default_value = {Component::named("layer_norm")}},
  };
  spec.claims = [](const Dims&, const ParamMap&) { return Claims{}; };
  spec.check = [](const Dims&, const ParamMap&, Issues&) {};
  spec.make = [](const Dims&, const ParamMap&) -> std::shared_ptr<torch::nn::Module> { return nullptr; };
  return spec;
}

TEST(Declaration, WithEveryTypeOfRowHasNoFault) { EXPECT_EQ(declaration_fault({good()}), ""); }

TEST(Declaration, OfNothingIsAFault) { EXPECT_EQ(declaration_fault({}), "declares no variant"); }

TEST(Declaration, OfOneNameTwiceIsAFault) {
  EXPECT_EQ(declaration_fault({good(), good()}), "variant 'good': it is declared twice");
}

struct Fault {
  std::function<void(VariantSpec&)> make;
  std::string text;
};

TEST(Declaration, NamesEachFault) {
  using Spec = VariantSpec&;
  const double nan = std::nan("");
  const std::vector<Fault> faults{
      {[](Spec s) { s.name = ""; }, "declares a variant with a wrong name: an empty name"},
      {[](Spec s) { s.name = "two words"; }, "'two words' is no identifier"},
      {[](Spec s) { s.name = "3d"; }, "'3d' is no identifier"},
      {[](Spec s) { s.name = "caf\xc3\xa9"; }, "is no identifier"},
      {[](Spec s) { s.name = std::string(65, 'a'); }, "is no identifier of at most 64"},
      {[](Spec s) { s.kind = static_cast<Kind>(17); }, "of a kind that this runner does not know"},
      {[](Spec s) { s.summary = ""; }, "its summary is not one line"},
      {[](Spec s) { s.summary = "two\nlines"; }, "its summary is not one line"},
      {[](Spec s) { s.summary = "\xff"; }, "is not UTF-8"},
      {[](Spec s) { s.source = "\xff"; }, "is not UTF-8"},
      {[](Spec s) { s.claims = nullptr; }, "its function 'claims' is missing"},
      {[](Spec s) { s.check = nullptr; }, "its function 'check' is missing"},
      {[](Spec s) { s.make = nullptr; }, "its function 'make' is missing"},
      {[](Spec s) { s.params[1].name = "flag"; }, "parameter 'flag': the name stands twice"},
      {[](Spec s) { s.params[0].name = "name"; }, "'name' stands for the variant itself"},
      {[](Spec s) { s.params[0].name = ""; }, "parameter '': an empty name"},
      {[](Spec s) { s.params[0].name = "a-b"; }, "'a-b' is no identifier"},
      {[](Spec s) { s.params[0].doc = "\xff"; }, "is not UTF-8"},
      {[](Spec s) { s.params[3].limits.choices[1] = "\xff"; }, "is not UTF-8"},
      {[](Spec s) { s.params[0].type = static_cast<ParamType>(99); }, "a type that this runner does not know"},
      {[](Spec s) { s.params[0].default_value = {1.0}; }, "parameter 'flag': its default is not of its type"},
      {[](Spec s) { s.params[1].default_value = {}; }, "parameter 'count': its default is not of its type"},
      {[](Spec s) { s.params[1].default_value = {std::int64_t{0}}; }, "its default 0 is below its least value 1"},
      {[](Spec s) { s.params[1].default_value = {std::int64_t{4}}; }, "its default 4 is above its largest value 3"},
      {[](Spec s) { s.params[2].default_value = {1.0}; }, "parameter 'rate': its default 1 is not less than 1"},
      {[](Spec s) { s.params[2].limits = positive(), s.params[2].default_value = {0.0}; }, "0 is not greater than 0"},
      {[nan](Spec s) { s.params[2].default_value = {nan}; }, "its default nan is not finite"},
      {[](Spec s) { s.params[2].limits = between(2, 1); }, "its least value 2 is above its largest value 1"},
      {[](Spec s) { s.params[3].default_value = {std::string("c")}; }, "'c' is none of its choices: a, b"},
      {[](Spec s) { s.params[4].default_value = {std::int64_t{1}}; }, "parameter 'sizes': its default is no list"},
      {[](Spec s) { s.params[4].default_value = {std::vector<Value>{{std::int64_t{0}}}}; },
       "0 is below its least value"},
      {[](Spec s) { s.params[5].default_value = {std::int64_t{0}}; }, "parameter 'width': its default 0 is below"},
      {[](Spec s) { s.params[7].default_value = {}; }, "parameter 'mask': its default is not of its type"},
      {[](Spec s) { s.params[10].default_value = {0.0}; }, "parameter 'gain': its default 0 is not greater than 0"},
      {[](Spec s) { s.params[10].default_value = {std::string("all")}; }, "'all' is none of its choices: auto"},
      {[](Spec s) { s.params[10].default_value = {true}; }, "parameter 'gain': its default is not of its type"},
      {[](Spec s) { s.params[10].limits = positive(); }, "parameter 'gain': it takes a number or a text, and names no"},
      {[](Spec s) { s.params[11].default_value = {Component::named("a b")}; }, "parameter 'norm': 'a b' is no identif"},
  };
  for (const auto& [make, text] : faults) {
    auto spec = good();
    make(spec);
    EXPECT_THAT(declaration_fault({spec}), HasSubstr(text));
  }
}

}  // namespace
}  // namespace headwright::registry
