// Mirrors a component's parameters, and gives it a traced or a written forward.
#include "exporter/component_script.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <exception>

#include "exporter/constants.h"
#include "exporter/dtypes.h"
#include "exporter/trace.h"
#include "headwright/errors.h"
#include "model/build.h"
#include "model/call_component.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

namespace jit = torch::jit;

[[noreturn]] void refuse(const Part& part, const std::string& message) {
  throw Error(part.path + ": '" + part.variant + "' cannot be exported: " + message);
}

/// torch's messages end in a backtrace.
std::string first_lines(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return support::printable(torch_error != nullptr ? torch_error->what_without_backtrace() : error.what(), 400);
}

void add_method(Part& part, const std::string& name, const Graph& graph) {
  const auto type = part.scripted.type();
  const auto prefix = type->name().value_or(c10::QualifiedName(part.variant));  // a class always has a name
  type->addMethod(type->compilation_unit()->create_function(c10::QualifiedName(prefix, name), graph));
}

/// Runs the forward as it is first, so that what fails there is the plugin's, and what fails in the trace is the trace.
std::vector<Version> trace(Part& part, const Signature& signature, const Inputs& example) {
  model::call_component(part.path, part.variant, [&] { part.eager(signature.inputs(signature.values(example))); });
  try {
    return trace_in_each_dtype(part, signature, example);
  } catch (const std::exception& error) {
    refuse(part, first_lines(error) + "; write its TorchScript in torchscript()");
  } catch (...) {
    refuse(part, "it cannot be traced; write its TorchScript in torchscript()");
  }
}

/// A text that does not compile leaves a broken method behind, so it is tried on a copy of the module first.
void define_written(Part& part, const std::string& text) {
  try {
    auto scratch = mirror(*part.module, "Scratch", std::make_shared<jit::CompilationUnit>());
    scratch.define(text);
    const auto method = scratch.find_method("forward");
    if (!method) refuse(part, "its torchscript() defines no forward");
    std::vector<std::string> names;
    for (const auto& argument : method->function().getSchema().arguments()) names.push_back(argument.name());
    auto expected = part.signature.names();
    expected.insert(expected.begin(), "self");
    if (names != expected) {
      refuse(part, "its torchscript() takes (" + support::join(names, ", ") + "), expected (" +
                       support::join(expected, ", ") + ") by its claims");
    }
    part.scripted.define(text);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    refuse(part, "its torchscript() does not compile: " + first_lines(error));
  }
}

/// A loop over time leaves one copy of its body for each token of the example in the trace.
void expect_no_loop(Part& part, const Inputs& example) {
  const auto repeated = loop_over_time(part, part.signature.required(), example);
  if (repeated.empty()) return;
  refuse(part, "its forward loops over the tokens: " + repeated +
                   " run once more for each token, which a trace writes down for one length alone; write the loop in "
                   "torchscript(), or use operators on the whole sequence");
}

std::string list_text(const at::Tensor& x) {
  return "[" + std::to_string(x.size(0)) + ", " + std::to_string(x.size(1)) + "]";
}

/// TorchScript that refuses every other batch size and length. C++ knows no exception classes there, only assert.
std::string guard(const Part& part, const std::string& name, const at::Tensor& x) {
  const auto got = name + ".size()[:2]", expected = list_text(x);
  return "    assert " + got + " == " + expected + ", \"[" + part.path + "] " + name +
         ": got batch and length {}, expected " + expected + ", the fixed shape that '" + part.variant +
         "' was exported at\".format(" + got + ")\n";
}

/// Where a component's dtype is read: its x, or a parameter where that is token ids.
std::string dtype_text(const Part& part, const Inputs& example) {
  if (example.x.defined() && example.x.is_floating_point()) return "x.dtype";
  for (const auto& item : part.module->named_parameters()) {
    if (item.value().is_floating_point()) return "self." + item.key() + ".dtype";
  }
  return "";
}

/// Adds a method for each version, and returns the lines that call the one for the dtype at hand.
std::string define_versions(Part& part, const Signature& choice, const std::vector<Version>& versions,
                            const std::string& dtype, const std::string& indent) {
  const auto given = choice.mask_names();
  const auto base = "forward_" + (given.empty() ? "plain" : support::join(given, "_"));
  std::string text, last;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto name = i == 0 ? base : base + "_" + model::dtype_name(versions[i].dtypes.front());
    add_method(part, name, versions[i].graph);
    const auto call = "return self." + name + "(" + choice.arguments() + ")\n";
    std::vector<std::string> tests;
    for (const auto type : versions[i].dtypes) tests.push_back(dtype + " == " + std::to_string(static_cast<int>(type)));
    if (i == 0) last = indent + call;
    else text += indent + "if " + support::join(tests, " or ") + ":\n" + indent + "    " + call;
  }
  return text + last;
}

/// A forward that guards what it is given, and picks the trace for it.
void define_choice(Part& part, const Inputs& example) {
  const auto& signature = part.signature;
  std::string text = signature.declaration();
  if (!part.dynamic) text += guard(part, "x", example.x);
  if (!part.dynamic && signature.memory) text += guard(part, "memory", example.memory);
  text += signature.defaults();
  const auto dtype = dtype_text(part, example);
  for (const auto& choice : signature.choices()) {
    const auto versions = trace(part, choice, example);
    const auto given = choice.mask_names();
    if (part.dynamic && signature.optional_names().empty() && versions.size() == 1) {
      return add_method(part, "forward", versions.front().graph);
    }
    if (given.empty()) {
      text += define_versions(part, choice, versions, dtype, "    ");
    } else {
      text += "    if " + support::join(given, " is not None and ") + " is not None:\n" +
              define_versions(part, choice, versions, dtype, "        ");
    }
  }
  part.scripted.define(text);
}

void check_devices(Part& part, const Inputs& example, bool traced) {
  for (const auto& method : part.scripted.get_methods()) {
    const auto tie = device_tie(*method.graph());
    if (!tie) continue;
    if (traced && part.dynamic) expect_no_loop(part, example);  // what it starts from is often what is tied
    refuse(part, "its " + method.name() + " would be tied to a device: " + *tie);
  }
}

}  // namespace

jit::Module container(const std::string& name, const Unit& unit) {
  jit::Module module(c10::QualifiedName("__torch__.headwright." + name), unit, /*shouldMangle=*/true);
  module.register_attribute("training", c10::BoolType::get(), false);  // without it, eval() in Python does nothing
  return module;
}

jit::Module mirror(const torch::nn::Module& module, const std::string& name, const Unit& unit) {
  auto scripted = container(name, unit);
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    scripted.register_parameter(item.key(), item.value(), /*is_buffer=*/false);
  }
  for (const auto& item : module.named_buffers(/*recurse=*/false)) scripted.register_buffer(item.key(), item.value());
  for (const auto& item : module.named_children()) {
    scripted.register_module(item.key(), mirror(*item.value(), name + "_" + item.key(), unit));
  }
  return scripted;
}

void write_component(Part& part, const Inputs& example, const std::string& text, const Unit& unit) {
  auto name = part.path;
  std::ranges::replace(name, '.', '_');
  part.scripted = mirror(*part.module, name, unit);
  if (text.empty()) define_choice(part, example);
  else define_written(part, text);
  check_devices(part, example, text.empty());
}

}  // namespace headwright::exporter
