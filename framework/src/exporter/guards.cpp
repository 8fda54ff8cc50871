// The checks of an exported forward's arguments, as TorchScript text.
#include "exporter/guards.h"

#include <ATen/ATen.h>

namespace headwright::exporter {

// C++ knows no exception classes in TorchScript, only assert; and dtypes only by their numbers.
std::string optional_guard(const std::string& name) {
  const bool mask = name.ends_with("_mask");
  const auto dtype = std::to_string(static_cast<int>(mask ? at::kBool : at::kLong));
  const std::string of = name == "memory_mask" ? "memory" : "x", before = "\"[model] " + name;
  const std::string wanted = mask ? "torch.bool, True = visible" : "torch.int64";
  const auto shape = of + ".size()[:2]";
  return "    if " + name + " is not None:\n" +                                                      //
         "        assert " + name + ".dtype == " + dtype + ", " + before + ": expected " + wanted +  //
         "; cast it\"\n" +                                                                           //
         "        assert " + name + ".size() == " + shape + ", " + before +                          //
         ": got shape {}, expected {}, the batch size and length of " + of + "\".format(" + name + ".size(), " + shape +
         ")\n";
}

}  // namespace headwright::exporter
