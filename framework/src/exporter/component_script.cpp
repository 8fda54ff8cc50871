#include "exporter/component_script.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>
#include <exception>

#include "exporter/constants.h"
#include "headwright/errors.h"
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

/// Writes what part.eager does on example inputs into the method `name`.
void trace(Part& part, const std::string& name, const Signature& signature, const Inputs& example) {
  jit::Stack stack;
  for (const auto& value : signature.values(example)) stack.emplace_back(value);
  const auto run = [&](const jit::Stack& inputs) -> jit::Stack {
    const jit::tracer::NoWarn quiet;  // what a trace leaves out is found by running it at other shapes
    std::vector<at::Tensor> values;
    for (const auto& input : inputs) values.push_back(input.toTensor());
    return {part.eager(signature.inputs(values))};
  };
  const auto no_name = [](const at::Tensor&) { return std::string(); };
  try {
    const auto traced = jit::tracer::trace(stack, run, no_name, /*strict=*/true, /*force_outplace=*/false,
                                           &part.scripted, signature.names());
    const auto type = part.scripted.type();
    const auto prefix = type->name().value_or(c10::QualifiedName(part.variant));  // a class always has a name
    type->addMethod(type->compilation_unit()->create_function(c10::QualifiedName(prefix, name), traced.first->graph));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    refuse(part, first_lines(error) + "; write its TorchScript in torchscript()");
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

/// A forward that guards a fixed shape and picks the trace for what is given.
void define_choice(Part& part, const Inputs& example) {
  std::string text = part.signature.declaration() + part.signature.defaults();
  if (!part.dynamic) text += guard(part, "x", example.x);
  if (!part.dynamic && part.signature.memory) text += guard(part, "memory", example.memory);
  for (const auto& choice : part.signature.choices()) {
    const auto given = choice.mask_names();
    const auto name = "forward_" + (given.empty() ? "plain" : support::join(given, "_"));
    trace(part, name, choice, example);
    const auto call = "return self." + name + "(" + choice.arguments() + ")\n";
    text += given.empty() ? "    " + call
                          : "    if " + support::join(given, " is not None and ") + " is not None:\n        " + call;
  }
  part.scripted.define(text);
}

void check_devices(const Part& part) {
  for (const auto& method : part.scripted.get_methods()) {
    if (const auto tie = device_tie(*method.graph())) {
      refuse(part, "its " + method.name() + " would be tied to a device: " + *tie);
    }
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
  if (!text.empty()) {
    define_written(part, text);
  } else if (part.dynamic && part.signature.optional_names().empty()) {
    trace(part, "forward", part.signature, example);
  } else {
    define_choice(part, example);
  }
  check_devices(part);
}

}  // namespace headwright::exporter
