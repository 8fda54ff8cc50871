// Reads and writes the header of a .npy file.
#include "tensor_io/npy_header.h"

#include <array>
#include <charconv>
#include <optional>

#include "headwright/errors.h"
#include "support/text.h"
#include "tensor_io/checked.h"

namespace headwright::tensor_io {
namespace {

struct Dtype {
  std::string_view code, name;
  at::ScalarType type;
};
constexpr std::array kDtypes{
    Dtype{"b1", "bool", at::kBool},    Dtype{"i1", "int8", at::kChar},     Dtype{"i2", "int16", at::kShort},
    Dtype{"i4", "int32", at::kInt},    Dtype{"i8", "int64", at::kLong},    Dtype{"u1", "uint8", at::kByte},
    Dtype{"f2", "float16", at::kHalf}, Dtype{"f4", "float32", at::kFloat}, Dtype{"f8", "float64", at::kDouble}};

/// "bool, int8, ..."
std::string known_dtypes() {
  std::string all;
  for (const auto& known : kDtypes) all += (all.empty() ? "" : ", ") + std::string(known.name);
  return all;
}

constexpr std::size_t kMostDims = 64;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const auto key = string();
      expect(':');
      if (key == "descr") set(dtype_, key, dtype());
      else if (key == "fortran_order") set(fortran_order_, key, boolean());
      else if (key == "shape") set(shape_, key, shape());
      else refuse("got key '" + support::printable(key) + "', expected descr, fortran_order and shape");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) refuse("got more after the closing brace");
    if (!dtype_ || !fortran_order_ || !shape_) refuse("expected all of descr, fortran_order and shape");
    return {*dtype_, *fortran_order_, *shape_};
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw InputError(file_ + ": .npy header, character " + std::to_string(at_ + 1) + ": " + message);
  }

  template <class T>
  void set(std::optional<T>& slot, const std::string& key, T value) {
    if (slot) refuse("key '" + key + "' stands twice");
    slot = std::move(value);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) refuse(std::string("expected '") + wanted + "'");
  }

  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("expected text in quotes");
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("expected a closing quote");
    const std::string inside(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return inside;
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view(word).size();
        return value;
      }
    }
    refuse("expected True or False");
  }

  at::ScalarType dtype() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') refuse("got a structured array, expected " + known_dtypes());
    const auto code = string();
    const char order = code.empty() ? '\0' : code[0];
    const auto kind = std::string_view(code).substr(code.empty() ? 0 : 1);
    for (const auto& known : kDtypes) {
      if (kind != known.code) continue;
      if (order == '<' || order == '=' || order == '|') return known.type;
      if (order == '>')
        refuse("got big-endian '" + code + "', expected little-endian; save x.astype('<" + std::string(kind) + "')");
    }
    if (kind.starts_with('O')) refuse("got Python objects, expected " + known_dtypes());
    refuse("got dtype '" + support::printable(code) + "', expected " + known_dtypes());
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(extent());
      if (extents.size() > kMostDims) refuse("got more than " + std::to_string(kMostDims) + " dimensions");
      if (accept(',')) continue;
      if (extents.size() == 1) refuse("expected ',' after the only extent of a tuple");
      expect(')');
      break;
    }
    return extents;
  }

  std::int64_t extent() {
    skip_space();
    std::int64_t value = 0;
    const auto* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0) refuse("expected an extent from 0 to 2^63 - 1");
    at_ += static_cast<std::size_t>(end - first);
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::optional<at::ScalarType> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

std::string npy_dtype(at::ScalarType dtype) {
  for (const auto& known : kDtypes) {
    if (known.type == dtype) return std::string(known.name);
  }
  return {};
}

NpyHeader parse_npy_header(std::string_view text, const std::string& file) { return Parser(text, file).parse(); }

std::string npy_preamble(const NpyHeader& header, const std::string& file) {
  std::string descr;
  for (const auto& known : kDtypes) {
    if (known.type == header.dtype) descr = (known.code.ends_with('1') ? "|" : "<") + std::string(known.code);
  }
  if (descr.empty()) {
    throw InputError(file + ": .npy has no " + c10::toString(header.dtype) + ", expected " + known_dtypes() +
                     "; write a .safetensors file instead");
  }
  auto shape = shape_text(header.shape);
  if (header.shape.size() == 1) shape.insert(shape.size() - 1, 1, ',');
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  constexpr std::size_t kBefore = 10, kAlignment = 64;  // magic, version and length; where the data may begin
  dict.append((kAlignment - (kBefore + dict.size() + 1) % kAlignment) % kAlignment, ' ');
  dict += '\n';
  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble += static_cast<char>(dict.size() & 0xff);
  preamble += static_cast<char>(dict.size() >> 8);
  return preamble + dict;
}

}  // namespace headwright::tensor_io
