// Plan -> Model: estimated first, then built on the CPU, then moved to its device and dtype.
#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/plan.h"
#include "model/model.h"

namespace headwright::model {

/// Parameters of a module; tied weights once.
std::int64_t count_parameters(const torch::nn::Module& module);

/// What a cache of one sequence takes, in bytes.
struct CacheFootprint {
  std::int64_t per_token = 0;  // while no window is full
  std::int64_t fixed = 0;      // whatever the length: states of recurrent layers
  std::int64_t tokens = 0;     // model.context_length; 0 = without a limit
  std::int64_t whole = 0;      // at that many tokens
};

/// True if every attention that reads the sequence itself claims a cache, and there is one.
bool claims_cache(const bind::ModelPlan& plan);

/// Sizes of a model, found without allocating it.
struct Footprint {
  std::int64_t parameters = 0;                                // tied weights once
  std::int64_t bytes = 0;                                     // parameters and buffers, in the plan's dtype
  std::vector<std::pair<std::string, std::int64_t>> modules;  // path -> its own parameters, in the order of the tree
  std::vector<std::pair<std::string, KernelChoice>> kernels;  // of every attention, by module path
  std::optional<CacheFootprint> cache;                        // nothing = the model has none
};

/// Throws ResourceError where the sizes overflow.
Footprint measure(const bind::Plan& plan);

/// Bytes of parameters and buffers in `dtype`, each kind of block measured once: quick whatever the stack's depth.
std::int64_t estimate_bytes(const bind::ModelPlan& plan, at::ScalarType dtype);

/// Seeds, draws every parameter in float32 on the CPU in the order of construction, casts, moves, and sets eval().
/// Throws ResourceError before anything is allocated where it cannot fit, ConfigError as expect_kernels().
std::shared_ptr<Model> build(const bind::Plan& plan);

/// Moves and casts in place. Floating tensors are cast; masks and tables of integers keep their type.
void place(torch::nn::Module& module, at::Device device, at::ScalarType dtype);

/// The kernel of every attention, by module path.
std::vector<std::pair<std::string, KernelChoice>> kernels_of(const Model& model);

/// Throws ConfigError, at the key that forces it, for every layer that its kernel cannot compute, or that cannot be
/// exported with it. Allocates nothing.
enum class Use { forward, exported };
void expect_kernels(const bind::Plan& plan, Use use = Use::forward);

/// "auto" = the first usable of cuda, mps, cpu. Throws ResourceError naming the usable devices.
at::Device device_from(const std::string& name);
std::vector<std::string> usable_devices();

at::ScalarType dtype_from(const std::string& name);
std::string dtype_name(at::ScalarType dtype);  // "float32"

}  // namespace headwright::model
