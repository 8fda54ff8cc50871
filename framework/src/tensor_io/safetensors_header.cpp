// Reads and writes the header of a .safetensors file.
#include "tensor_io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "headwright/errors.h"
#include "support/text.h"
#include "tensor_io/checked.h"

namespace headwright::tensor_io {
namespace {

using nlohmann::json;

struct Dtype {
  std::string_view code;
  at::ScalarType type;
};
constexpr std::array kDtypes{Dtype{"BOOL", at::kBool}, Dtype{"U8", at::kByte},       Dtype{"I8", at::kChar},
                             Dtype{"I16", at::kShort}, Dtype{"I32", at::kInt},       Dtype{"I64", at::kLong},
                             Dtype{"F16", at::kHalf},  Dtype{"BF16", at::kBFloat16}, Dtype{"F32", at::kFloat},
                             Dtype{"F64", at::kDouble}};

/// Bits of an element of the format's other dtypes, which are not read.
struct OtherDtype {
  std::string_view code;
  std::uint64_t bits;
};
constexpr std::array kOtherDtypes{OtherDtype{"F4", 4},      OtherDtype{"F6_E2M3", 6}, OtherDtype{"F6_E3M2", 6},
                                  OtherDtype{"F8_E5M2", 8}, OtherDtype{"F8_E4M3", 8}, OtherDtype{"F8_E8M0", 8},
                                  OtherDtype{"U16", 16},    OtherDtype{"U32", 32},    OtherDtype{"U64", 64},
                                  OtherDtype{"C64", 64}};

constexpr auto kMetadata = "__metadata__";
constexpr std::size_t kMostDims = 64;

/// One tensor as the header describes it, not yet checked.
struct Described {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape, offsets;
};

/// Takes the JSON event by event, so that a duplicate key is seen (a tree would keep the last) and nothing nests deeper
/// than the format does.
class Handler final : public nlohmann::json_sax<json> {
 public:
  std::vector<Described> tensors;
  std::map<std::string, std::string> metadata;
  std::string fault;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a bool"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected(support::printable(text)); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (!list_) return unexpected("a number");
    if (list_->size() == kMostDims) return refuse("got more than " + std::to_string(kMostDims) + " numbers");
    list_->push_back(number);
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      metadata[key_] = text;
      return true;
    }
    if (depth_ != 2 || key_ != "dtype" || list_) return unexpected("text");
    tensors.back().dtype = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == 2 || list_) return unexpected("an object");
    if (++depth_ == 2 && !in_metadata_) tensors.push_back({.name = key_});
    return true;
  }

  bool key(string_t& name) override {
    key_ = name;
    if (!keys_[depth_ - 1].insert(name).second) return refuse("stands twice");
    if (depth_ == 1) {
      in_metadata_ = name == kMetadata;
      if (name.empty()) return refuse("got a tensor without a name");
    } else if (!in_metadata_ && name != "dtype" && name != "shape" && name != "data_offsets") {
      return refuse("unknown key, expected dtype, shape and data_offsets");
    }
    return true;
  }

  bool end_object() override {
    keys_[--depth_].clear();
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ || key_ == "dtype") return unexpected("a list");
    auto& slot = key_ == "shape" ? tensors.back().shape : tensors.back().offsets;
    list_ = &slot.emplace();
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    if (!fault.empty()) return false;
    // nlohmann's text begins with "[json.exception.parse_error.101] "; what follows says what is wrong.
    const std::string text = error.what();
    const auto end = text.find("] ");
    fault = "not JSON at byte " + std::to_string(position) + ": " +
            support::printable(end == std::string::npos ? text : text.substr(end + 2), 200);
    return false;
  }

 private:
  bool unexpected(const std::string& got) {
    if (list_) return refuse("got " + got + " in a list, expected whole numbers from 0");
    if (depth_ == 0) return refuse("got " + got + ", expected an object");
    if (depth_ == 1) return refuse("got " + got + ", expected an object with dtype, shape and data_offsets");
    if (in_metadata_) return refuse("got " + got + ", expected text");
    return refuse("got " + got + ", expected " + (key_ == "dtype" ? "text" : "a list of whole numbers from 0"));
  }

  bool refuse(const std::string& message) {
    fault = depth_ == 2 && !in_metadata_ ? "tensor '" + support::printable(tensors.back().name) + "'" : "";
    if (depth_ == 2 && in_metadata_) fault = kMetadata;
    if (!key_.empty() && depth_ > 0) fault += (fault.empty() ? "'" : " '") + support::printable(key_) + "'";
    fault += (fault.empty() ? "" : ": ") + message;
    return false;
  }

  std::size_t depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;
  std::array<std::set<std::string>, 2> keys_;   // seen so far, per depth
  std::vector<std::uint64_t>* list_ = nullptr;  // the list that is open
};

class Checker {
 public:
  Checker(std::uint64_t data_size, const std::string& file) : data_size_(data_size), file_(file) {}

  SafetensorsHeader::Entry entry(const Described& tensor) const {
    const auto where = "tensor '" + support::printable(tensor.name) + "': ";
    if (!tensor.dtype || !tensor.shape || !tensor.offsets) {
      refuse(where + "expected all of dtype, shape and data_offsets");
    }
    const auto dtype = std::ranges::find(kDtypes, *tensor.dtype, &Dtype::code);
    std::vector<std::int64_t> shape;
    for (const auto extent : *tensor.shape) {
      if (extent > std::numeric_limits<std::int64_t>::max())
        refuse(where + "got extent " + std::to_string(extent) + ", which is larger than any memory");
      shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto bytes = bytes_of(*tensor.dtype, shape);
    if (!bytes) refuse(where + "got shape " + shape_text(shape) + ", which is larger than any memory");
    const auto& offsets = *tensor.offsets;
    if (offsets.size() != 2) refuse(where + "got " + std::to_string(offsets.size()) + " data_offsets, expected 2");
    if (offsets[0] > offsets[1] || offsets[1] > data_size_) {
      refuse(where + "got data_offsets " + std::to_string(offsets[0]) + " to " + std::to_string(offsets[1]) +
             ", expected them within the " + std::to_string(data_size_) + " bytes of data");
    }
    if (*bytes != kUnknown && offsets[1] - offsets[0] != *bytes) {
      refuse(where + "got " + std::to_string(offsets[1] - offsets[0]) + " bytes, expected " + std::to_string(*bytes) +
             " for shape " + shape_text(shape) + " of " + *tensor.dtype);
    }
    return {tensor.name, dtype == kDtypes.end() ? at::ScalarType::Undefined : dtype->type,
            shape,       offsets[0],
            offsets[1],  *tensor.dtype};
  }

  /// Entries are in the order of their offsets.
  void coverage(const std::vector<SafetensorsHeader::Entry>& entries) const {
    std::uint64_t covered = 0;
    for (const auto& entry : entries) {
      if (entry.begin != covered) {
        refuse("tensor '" + support::printable(entry.name) + "': begins at byte " + std::to_string(entry.begin) +
               " of the data, expected " + std::to_string(covered) +
               (entry.begin < covered ? "; it overlaps another" : "; there is a hole before it"));
      }
      covered = entry.end;
    }
    if (covered != data_size_) {
      refuse("got " + std::to_string(data_size_) + " bytes of data, expected the " + std::to_string(covered) +
             " that its tensors describe");
    }
  }

 private:
  /// Of a dtype that is newer than this list.
  static constexpr auto kUnknown = std::numeric_limits<std::uint64_t>::max();

  static std::optional<std::uint64_t> bytes_of(std::string_view code, const std::vector<std::int64_t>& shape) {
    if (const auto known = std::ranges::find(kDtypes, code, &Dtype::code); known != kDtypes.end()) {
      return checked_bytes(shape, c10::elementSize(known->type));
    }
    const auto other = std::ranges::find(kOtherDtypes, code, &OtherDtype::code);
    if (other == kOtherDtypes.end()) return checked_bytes(shape, 1) ? std::optional(kUnknown) : std::nullopt;
    const auto bits = checked_bytes(shape, other->bits);
    return bits ? std::optional((*bits + 7) / 8) : std::nullopt;
  }

  [[noreturn]] void refuse(const std::string& message) const { throw InputError(file_ + ": " + message); }

  std::uint64_t data_size_;
  const std::string& file_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_size, const std::string& file) {
  Handler handler;
  if (!text.starts_with('{')) throw InputError(file + ": .safetensors header: expected '{' at its beginning");
  if (!json::sax_parse(text.begin(), text.end(), &handler)) {
    throw InputError(file + ": .safetensors header: " + handler.fault);
  }
  const Checker checker(data_size, file);
  SafetensorsHeader header;
  header.metadata = std::move(handler.metadata);
  for (const auto& tensor : handler.tensors) header.entries.push_back(checker.entry(tensor));
  std::ranges::stable_sort(header.entries, {}, [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  checker.coverage(header.entries);
  return header;
}

std::string_view safetensors_dtype(at::ScalarType dtype) {
  for (const auto& known : kDtypes) {
    if (known.type == dtype) return known.code;
  }
  return {};
}

std::string safetensors_dtypes() {
  std::string all;
  for (const auto& known : kDtypes) all += (all.empty() ? "" : ", ") + std::string(known.code);
  return all;
}

}  // namespace headwright::tensor_io
