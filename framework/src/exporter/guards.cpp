// The checks of an exported forward's arguments, as TorchScript text.
#include "exporter/guards.h"

#include <ATen/ATen.h>

namespace headwright::exporter {

// C++ knows no exception classes in TorchScript, only assert; and dtypes only by their numbers.
std::string optional_guard(const std::string& where, const std::string& name, const std::string& of) {
  const bool ids = name == "document_ids";
  const auto dtype = std::to_string(static_cast<int>(ids ? at::kLong : at::kBool));
  const std::string wanted = ids ? "torch.int64" : "torch.bool, True = visible", before = "\"[" + where + "] " + name;
  const auto shape = of + ".size()[:2]";
  return "    if " + name + " is not None:\n" +                                                      //
         "        assert " + name + ".dtype == " + dtype + ", " + before + ": expected " + wanted +  //
         "; cast it\"\n" +                                                                           //
         "        assert " + name + ".size() == " + shape + ", " + before +                          //
         ": got shape {}, expected {}, the batch size and length of " + of + "\".format(" + name + ".size(), " + shape +
         ")\n";
}

}  // namespace headwright::exporter
