// The zip archive of a TorchScript file, sealed with a SHA-256.
//
// The digest is over every record but its own: for each record, in the order of the file, its name, a zero byte, its
// size in decimal, a zero byte, and its bytes. It cannot be among what torch's serialiser writes, since it depends on
// all of that. So the serialiser writes a draft, and sealing copies the draft's records into the file that counts and
// adds the digest as one more. `.data/serialization_id` is left out: torch's writer derives it from the names and
// checksums of all records, the digest's among them, and refuses to take it from a copy. Nothing of the model depends
// on it.
#pragma once
#include <caffe2/serialize/inline_container.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "support/files.h"

namespace headwright::exporter {

/// Hands torch's writers a file. They end the process if they learn of a failure, so it is kept until done() throws it.
class Sink {
 public:
  explicit Sink(support::AtomicFile& file) : file_(file) {}
  std::size_t write(const void* data, std::size_t size) noexcept;
  void done();

 private:
  support::AtomicFile& file_;
  std::exception_ptr failure_;
};

/// Copies `draft` into `file`, adds its digest as the text `name`, and returns the digest.
std::string seal(const std::filesystem::path& draft, support::AtomicFile& file, const std::string& name);

/// An archive of this process or a stranger's. Throws InputError "PATH: found ..., expected ..." for what is no
/// TorchScript archive.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& path);

  /// The digest over every record but the text `name`.
  std::string digest(const std::string& name);

  /// A text beside the code, as torch.jit.load(_extra_files=...) reads it; nothing if there is none.
  std::optional<std::string> text(const std::string& name);

 private:
  [[noreturn]] void refuse(const std::string& found) const;

  std::filesystem::path path_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
};

}  // namespace headwright::exporter
