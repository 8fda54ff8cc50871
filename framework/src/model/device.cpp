// Names of devices and dtypes.
#include <ATen/Context.h>

#include <algorithm>
#include <array>

#include "model/build.h"
#include "support/text.h"

namespace headwright::model {
namespace {

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 4> kDtypes{
    {{"float32", at::kFloat}, {"float64", at::kDouble}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}}};

int cuda_devices() {
  return at::hasCUDA() ? at::globalContext().getAcceleratorHooksInterface(at::kCUDA).deviceCount() : 0;
}

std::string why_not(const std::string& name) {
  if (name.starts_with("cuda") && !at::hasCUDA()) return "this libtorch was built without CUDA";
  if (name.starts_with("cuda")) return std::to_string(cuda_devices()) + " CUDA devices are visible";
  if (name == "mps" && !at::hasMPS()) return "this libtorch was built without MPS";
  return "no such device";
}

}  // namespace

std::vector<std::string> usable_devices() {
  std::vector<std::string> names{"cpu"};
  for (int i = 0; i < cuda_devices(); ++i) names.push_back("cuda:" + std::to_string(i));
  if (at::hasMPS()) names.emplace_back("mps");
  return names;
}

at::Device device_from(const std::string& name) {
  const auto usable = usable_devices();
  const auto first = [&](std::string_view type) {
    return std::ranges::find_if(usable, [&](const std::string& device) { return device.starts_with(type); });
  };
  if (name == "auto") {
    for (const auto* type : {"cuda", "mps"}) {
      if (const auto found = first(type); found != usable.end()) return at::Device(*found);
    }
    return at::Device(at::kCPU);
  }
  const std::string wanted = name == "cuda" ? "cuda:0" : name;
  if (std::ranges::find(usable, wanted) != usable.end()) return at::Device(wanted);
  throw ResourceError("device '" + name + "' is not usable: " + why_not(name) +
                      "; usable: " + support::join(usable, ", "));
}

at::ScalarType dtype_from(const std::string& name) {
  for (const auto& [text, dtype] : kDtypes) {
    if (text == name) return dtype;
  }
  throw InputError("no dtype is called '" + name + "'");
}

std::string dtype_name(at::ScalarType dtype) {
  for (const auto& [text, known] : kDtypes) {
    if (known == dtype) return std::string(text);
  }
  switch (dtype) {
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(dtype);
  }
}

}  // namespace headwright::model
