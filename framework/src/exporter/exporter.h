// A model as a file. TorchScript for stock PyTorch; safetensors for the weights alone.
//
// TorchScript keeps the module tree with its names. The model takes
//   forward(x, [memory], [key_mask: Optional[Tensor] = None], [memory_mask: Optional[Tensor] = None],
//           [document_ids: Optional[Tensor] = None])
// where `memory` is there if a layer reads one (an encoder reads it first), the masks (true = visible) if every
// attention that they concern honours one, and the documents if a layer reads them. Each attention layer can be called
// on its own, with what it claims itself. No dropout, whatever train() says.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bind/plan.h"
#include "model/model.h"

namespace headwright::exporter {

/// What was compared with the running model, and how far apart they were.
struct Check {
  std::vector<std::int64_t> shape;  // of the input
  double max_abs_error = 0;
};

struct Report {
  std::string file, format, sha256;
  std::int64_t parameters = 0;
  bool dynamic = true;  // takes any batch size and length; otherwise the shape of `checked[0]` alone
  std::vector<Check> checked;
};

/// "torchscript", "safetensors"
std::vector<std::string> formats();

/// By the file's ending: .safetensors, else TorchScript.
std::string format_for(const std::filesystem::path& path);

/// Writes `path` whole or not at all. Throws Error where what was written does not equal the model, FileError where the
/// file cannot be written.
Report write(model::Model& model, const bind::Plan& plan, const std::string& format, const std::filesystem::path& path);

struct Inspection {
  std::string file, format, sha256, config;
  bool valid = false;  // the digest over the file's records is the one it carries
  std::string detail;  // why it is not valid
  std::map<std::string, std::string> versions;
  std::int64_t parameters = 0;
  bool dynamic = true;
  std::vector<Check> checked;
};

/// Throws InputError where the file is none that export writes: says what was found and what was expected.
Inspection inspect(const std::filesystem::path& path);

}  // namespace headwright::exporter
