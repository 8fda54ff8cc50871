// headwright_seal FILE: what `runner seal` does, for the build.
#include <cstdio>
#include <exception>

#include "registry/seal.h"

int main(int count, char** arguments) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: headwright_seal FILE\n");
    return 2;
  }
  headwright::registry::seal_library(arguments[1]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "headwright_seal: %s\n", error.what());
  return 1;
}
