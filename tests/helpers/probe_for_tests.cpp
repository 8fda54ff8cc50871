// A process of its own for the tests of the registry: the probe, or a host that returns from main with plugins loaded.
//   probe_for_tests probe
//   probe_for_tests run_all FOLDER [CACHE]   loads every variant in FOLDER, runs each, prints how many
#include <cstdio>
#include <string_view>

#include "check/subject.h"
#include "helpers/components.h"
#include "registry/registry.h"

namespace {

int run_all(const char* program, const char* folder, const char* cache) {
  headwright::registry::Options options{.search_path = {folder}, .probe = program};
  if (cache != nullptr) options.cache_folder = cache;
  headwright::registry::Registry registry(options);
  int count = 0;
  for (const auto* variant : registry.all()) {
    const headwright::check::Subject subject(*variant, headwright::test::small_dims(),
                                             headwright::test::default_values(*variant));
    subject.call(*subject.make(), subject.draw(2, 3));
    ++count;
  }
  std::printf("%d\n", count);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  if (command == "probe") return headwright::registry::probe_main();
  if (command == "run_all" && count >= 3) return run_all(arguments[0], arguments[2], arguments[3]);
  return 2;
}
