// A process of its own for the tests of the registry: the probe, or a host that returns from main with plugins loaded.
//   probe_for_tests probe
//   probe_for_tests run_all FOLDER   loads every variant in FOLDER, runs each, prints how many
#include <ATen/ATen.h>

#include <cstdio>
#include <string_view>

#include "headwright/feed_forward.h"
#include "headwright/norm.h"
#include "registry/registry.h"

namespace {

void run(torch::nn::Module& module) {
  const auto x = at::ones({2, 3, 4});
  if (auto* norm = dynamic_cast<headwright::Norm*>(&module)) norm->forward(x);
  if (auto* feed_forward = dynamic_cast<headwright::FeedForward*>(&module)) feed_forward->forward(x);
}

int run_all(const char* program, const char* folder) {
  headwright::registry::Registry registry({.search_path = {folder}, .probe = program});
  int count = 0;
  for (const auto* variant : registry.all()) {
    run(*variant->make({.d_model = 4}, {}));
    ++count;
  }
  std::printf("%d\n", count);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  if (command == "probe") return headwright::registry::probe_main();
  if (command == "run_all" && count == 3) return run_all(arguments[0], arguments[2]);
  return 2;
}
