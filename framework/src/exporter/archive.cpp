// Reads and writes the zip archive of an export, and compares its checksum.
#include "exporter/archive.h"

#include <algorithm>
#include <vector>

#include "headwright/errors.h"
#include "support/hash.h"

namespace headwright::exporter {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kLongestText = 64 << 20;

std::string record_of(const std::string& name) { return "extra/" + name; }

/// What a digest that is stored as the text `name` covers.
bool is_covered(const std::string& record, const std::string& name) {
  return record != record_of(name) && record != caffe2::serialize::kSerializationIdRecordName;
}

void add_title(support::Sha256& digest, const std::string& record, std::size_t size) {
  digest.add(record + '\0' + std::to_string(size) + '\0');
}

}  // namespace

std::size_t Sink::write(const void* data, std::size_t size) noexcept {
  try {
    if (!failure_) file_.write(data, size);
  } catch (...) {
    failure_ = std::current_exception();
  }
  return size;
}

void Sink::done() {
  if (failure_) std::rethrow_exception(failure_);
  file_.flush();
}

std::string seal(const std::filesystem::path& draft, support::AtomicFile& file, const std::string& name) {
  PyTorchStreamReader reader(draft.string());
  Sink sink(file);
  PyTorchStreamWriter writer([&](const void* data, std::size_t size) { return sink.write(data, size); });
  support::Sha256 digest;
  for (const auto& record : reader.getAllRecords()) {
    if (!is_covered(record, name)) continue;
    const auto [data, size] = reader.getRecord(record);
    add_title(digest, record, size);
    digest.add(data.get(), size);
    // As torch does it: code shrinks to a fraction, tensors stay aligned so that they can be mapped.
    writer.writeRecord(record, data.get(), size, /*compress=*/record.starts_with("code/"));
  }
  const auto hex = digest.hex();
  writer.writeRecord(record_of(name), hex.data(), hex.size());
  writer.writeEndOfFile();
  sink.done();
  return hex;
}

Archive::Archive(const std::filesystem::path& path) : path_(path) {
  try {
    reader_ = std::make_unique<PyTorchStreamReader>(path.string());
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    refuse(what.find("central directory") != std::string::npos ? "the beginning of a zip archive; is the file cut off?"
                                                               : "a zip archive that PyTorch did not write");
  }
  const auto has = [&](const char* record) { return reader_->hasRecord(record); };
  if (!has("data.pkl")) refuse("a zip archive without data.pkl");
  if (!has("constants.pkl")) refuse("a PyTorch checkpoint (torch.save), which holds no program");
}

std::string Archive::digest(const std::string& name) {
  try {
    support::Sha256 digest;
    std::vector<char> chunk(kChunk);
    for (const auto& record : reader_->getAllRecords()) {
      if (!is_covered(record, name)) continue;
      const auto size = reader_->getRecordSize(record);
      add_title(digest, record, size);
      auto chunks = reader_->createChunkReaderIter(record, size, kChunk);
      for (std::size_t left = size; left > 0;) {
        const auto got = chunks.next(chunk.data());
        if (got == 0) refuse("a damaged archive: record '" + record + "' ends early");
        digest.add(chunk.data(), got);
        left -= std::min(left, got);
      }
    }
    return digest.hex();
  } catch (const c10::Error&) {
    refuse("a damaged archive, whose records cannot be read");
  }
}

std::optional<std::string> Archive::text(const std::string& name) {
  try {
    const auto record = record_of(name);
    if (!reader_->hasRecord(record)) return std::nullopt;
    if (reader_->getRecordSize(record) > kLongestText) refuse("a damaged archive: '" + record + "' is too large");
    const auto [data, size] = reader_->getRecord(record);
    return std::string(static_cast<const char*>(data.get()), size);
  } catch (const c10::Error&) {
    refuse("a damaged archive, whose texts cannot be read");
  }
}

void Archive::refuse(const std::string& found) const {
  throw InputError(path_.string() + ": found " + found + ", expected a file written by 'runner export'");
}

}  // namespace headwright::exporter
