// SHA-256, from OpenSSL's libcrypto.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace headwright::support {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(const void* data, std::size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::string hex();  // ends the digest

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headwright::support
