// The plan's input section as tensors.
#include <ATen/ATen.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bind/config.h"
#include "headwright/shapes.h"
#include "model/build.h"
#include "run/forward.h"
#include "run/input_values.h"
#include "support/system.h"
#include "support/text.h"
#include "tensor_io/tensor_io.h"

namespace headwright::run {
namespace {

using From = bind::TensorSource::From;

std::string place(const bind::TensorSource& source, const std::string& path) {
  return source.mark.file + ":" + std::to_string(source.mark.line) + ":" + std::to_string(source.mark.column) + ": " +
         path + ": ";
}

std::filesystem::path file_of(const bind::TensorSource& source) {
  return std::filesystem::path(source.mark.file).parent_path() / source.file;
}

/// Room for the tensor itself, before it is made.
void expect_room(const bind::TensorSource& source) {
  double bytes = 4;
  for (const auto size : source.shape) bytes *= static_cast<double>(size);
  const auto usable = static_cast<double>(support::usable_memory());
  if (bytes <= usable) return;
  throw ResourceError(place(source, "input.random.shape") + "needs " + support::bytes_text(bytes) +
                      ", but this process can take " + support::bytes_text(usable));
}

at::Tensor random(const bind::TensorSource& source, std::int64_t vocab_size) {
  expect_room(source);
  auto generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(static_cast<std::uint64_t>(source.seed));
  if (vocab_size > 0) return at::randint(0, vocab_size, source.shape, generator, at::TensorOptions().dtype(at::kLong));
  return at::randn(source.shape, generator, at::TensorOptions().dtype(at::kFloat));
}

at::Tensor tensor_of(const bind::TensorSource& source, std::int64_t vocab_size) {
  switch (source.from) {
    case From::values:
      return at::tensor(source.values, at::kDouble).view(source.shape).to(source.integers ? at::kLong : at::kDouble);
    case From::file:
      return tensor_from_file(source);
    case From::random:
      return random(source, vocab_size);
    case From::nothing:
      break;
  }
  return {};
}

void check_tokens(const at::Tensor& tokens, std::int64_t vocab_size, const std::string& where) {
  if (tokens.dim() != 2 || !at::isIntegralType(tokens.scalar_type(), false)) {
    throw InputError(where + "got " + model::dtype_name(tokens.scalar_type()) + " " + shape_text(tokens) +
                     ", expected integer token ids (batch, seq)");
  }
  if (tokens.numel() == 0) return;
  const auto lowest = tokens.min().item<std::int64_t>(), highest = tokens.max().item<std::int64_t>();
  if (lowest < 0 || highest >= vocab_size) {
    throw InputError(where + "got token id " + std::to_string(lowest < 0 ? lowest : highest) + ", expected 0 to " +
                     std::to_string(vocab_size - 1));
  }
}

/// Features or images of the shape that is wanted.
void check_features(const at::Tensor& x, const bind::Wanted& wanted, const std::string& where) {
  const auto& item = wanted.item_shape;
  const bool images = wanted.takes == Takes::images;
  const auto rank = static_cast<std::int64_t>(item.size()) + (images ? 1 : 2);
  const bool fits =
      x.dim() == rank && std::ranges::equal(item, x.sizes().slice(rank - static_cast<std::int64_t>(item.size())));
  if (fits && at::isFloatingType(x.scalar_type())) return;
  std::string expected = images ? "images (batch" : "floating-point features (batch, seq";
  for (const auto size : item) expected += ", " + std::to_string(size);
  throw InputError(where + "got " + model::dtype_name(x.scalar_type()) + " " + shape_text(x) + ", expected " +
                   expected + ")");
}

/// limit: the key that says what the longest is.
void check_length(const at::Tensor& x, std::int64_t longest, const std::string& limit, const std::string& where) {
  if (longest == 0 || x.size(1) <= longest) return;
  throw InputError(where + "got " + std::to_string(x.size(1)) + " tokens, but " + limit + " is " +
                   std::to_string(longest));
}

/// Token ids, features or images as the model takes them.
at::Tensor checked(const bind::TensorSource& source, const bind::Wanted& wanted, const std::string& where) {
  const bool tokens = wanted.takes == Takes::tokens;
  auto x = tensor_of(source, tokens ? wanted.vocab_size : 0);
  if (tokens) {
    check_tokens(x, wanted.vocab_size, where);
  } else {
    check_features(x, wanted, where);
  }
  return x;
}

/// A mask as given, or made of the rows' lengths. x: (batch, seq, ...)
at::Tensor mask_of(const bind::TensorSource& source, const at::Tensor& x) {
  if (source.from == From::nothing) return {};
  auto values = tensor_of(source, 0);
  if (source.integers) {
    if (values.size(0) != x.size(0)) {
      throw InputError(place(source, "lengths") + "got " + std::to_string(values.size(0)) + " lengths, expected " +
                       std::to_string(x.size(0)) + ", one for each row of the batch");
    }
    return at::arange(x.size(1)).unsqueeze(0).lt(values.unsqueeze(1));  // (batch, seq)
  }
  if (values.size(0) == x.size(0) && values.size(1) == x.size(1)) return values.to(at::kBool);
  throw InputError(place(source, "key_mask") + "got " + shape_text(values) + ", expected (" +
                   std::to_string(x.size(0)) + ", " + std::to_string(x.size(1)) + ")");
}

/// One integer for each token, below `count` where that is given: (batch, seq) int64. x: (batch, seq, ...)
at::Tensor ids_of(const bind::TensorSource& source, const char* key, const at::Tensor& x, std::int64_t count) {
  if (source.from == From::nothing) return {};
  const auto ids = tensor_of(source, 0);
  const auto where = place(source, std::string("input.") + key);
  if (ids.dim() != 2 || ids.size(0) != x.size(0) || ids.size(1) != x.size(1) ||
      !at::isIntegralType(ids.scalar_type(), false)) {
    throw InputError(where + "got " + model::dtype_name(ids.scalar_type()) + " " + shape_text(ids) +
                     ", expected integers (" + std::to_string(x.size(0)) + ", " + std::to_string(x.size(1)) +
                     ") as the input");
  }
  if (count > 0 && ids.numel() > 0) {
    const auto lowest = ids.min().item<std::int64_t>(), highest = ids.max().item<std::int64_t>();
    if (lowest < 0 || highest >= count) {
      throw InputError(where + "got " + std::to_string(lowest < 0 ? lowest : highest) + ", expected 0 to " +
                       std::to_string(count - 1));
    }
  }
  return ids.to(at::kLong);
}

/// The file and the tensor in it, or the place in the config.
std::string origin(const bind::TensorSource& source) {
  if (source.from != From::file) return place(source, "input");
  return file_of(source).string() + ": " +
         (source.tensor.empty() ? "" : "tensor '" + support::printable(source.tensor) + "' ");
}

/// On the device, in the dtype; ids stay integers.
at::Tensor placed(const at::Tensor& x, const bind::TensorSource& source, at::Device device, at::ScalarType dtype) {
  if (at::isIntegralType(x.scalar_type(), false)) return x.to(device, at::kLong);
  expect_fits(x, dtype, origin(source));
  return x.to(device, dtype);
}

/// What reads the memory where there is no input of its own.
void take_memory(const bind::Plan& plan, const std::string& where, at::Device device, at::ScalarType dtype,
                 Inputs& inputs) {
  const auto& model = plan.model;
  const auto& source = plan.input.memory;
  if (source.from == From::nothing) {
    throw InputError(where + "no memory: the model has " + (model.encoder ? "an encoder" : "cross-attention") +
                     "; add input.memory");
  }
  const auto memory_place = place(source, "input.memory");
  const auto memory = checked(source, bind::wanted_memory(model), memory_place);
  check_length(memory, model.longest_memory(), "model.encoder.context_length", memory_place);
  if (inputs.x.defined() && memory.size(0) != inputs.x.size(0)) {
    throw InputError(memory_place + "got a batch of " + std::to_string(memory.size(0)) + ", expected " +
                     std::to_string(inputs.x.size(0)) + " as in the input");
  }
  inputs.memory = placed(memory, source, device, dtype);
  if (auto mask = mask_of(plan.input.memory_mask, memory); mask.defined()) inputs.memory_mask = mask.to(device);
}

void take_x(const bind::Plan& plan, const std::string& where, at::Device device, at::ScalarType dtype, Inputs& inputs) {
  const auto& model = plan.model;
  const auto wanted = bind::wanted_input(model);
  const auto x = checked(plan.input.x, wanted, where);
  if (wanted.takes != Takes::images) check_length(x, model.dims.context_length, "model.context_length", where);
  inputs.x = placed(x, plan.input.x, device, dtype);
  const auto take = [&](at::Tensor& into, const at::Tensor& value) {
    if (value.defined()) into = value.to(device);
  };
  take(inputs.key_mask, mask_of(plan.input.key_mask, x));
  take(inputs.document_ids, ids_of(plan.input.document_ids, "document_ids", x, 0));
  take(inputs.positions, ids_of(plan.input.positions, "positions", x, model.dims.context_length));
  take(inputs.token_types, ids_of(plan.input.token_types, "token_types", x, model.embedding.claims.n_token_types));
}

}  // namespace

at::Tensor tensor_from_file(const bind::TensorSource& source) {
  return tensor_io::read_tensor(file_of(source), source.tensor);
}

Inputs make_inputs(const bind::Plan& plan) {
  const auto& model = plan.model;
  const auto& source = plan.input.x;
  if (model.takes_x() && source.from == From::nothing) {
    throw InputError(bind::file_of(plan) + ": no input: add an input section, or give --input FILE, --random SHAPE" +
                     (bind::wanted_input(model).takes == Takes::tokens ? " or --tokens IDS" : ""));
  }
  const auto device = model::device_from(plan.run.device);
  const auto dtype = model::dtype_from(plan.run.dtype);
  const auto where = model.takes_x() ? place(source, "input") : bind::file_of(plan) + ": input: ";
  Inputs inputs;
  if (model.takes_x()) take_x(plan, where, device, dtype, inputs);
  if (model.takes_memory()) take_memory(plan, where, device, dtype, inputs);
  return inputs;
}

}  // namespace headwright::run
