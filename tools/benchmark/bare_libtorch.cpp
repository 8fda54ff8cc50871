// The least that a process on libtorch does: adds two tensors. What `runner forward` takes beyond this is ours.
#include <ATen/ATen.h>

#include <iostream>

int main() {
  const auto sum = at::ones({2, 3}) + at::ones({2, 3});
  std::cout << sum << '\n';
}
