// What the calls of the system say, in the words of messages.
#pragma once
#include <unistd.h>

#include <string>

namespace headwright::support {

/// Of an errno: "no such file or folder".
std::string file_error_text(int code);

/// Closes itself.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace headwright::support
