// Measurements that take turns, so that a busy machine slows all of them.
#pragma once
#include <cstddef>
#include <vector>

#include "bench/timing.h"

namespace headwright::bench {

class Turns {
 public:
  enum class Pass { forward, backward };

  /// Returns the index by which seconds() knows it.
  std::size_t add(const Work& work, Pass pass);

  /// Every other round in the opposite order: what comes right after what is not always the same.
  void round(bool forwards, bool counts);

  /// Of each round that counts.
  const std::vector<double>& seconds(std::size_t index) const { return all_[index].seconds; }

 private:
  struct One {
    Work work;
    Pass pass;
    std::vector<double> seconds;
  };
  std::vector<One> all_;
};

}  // namespace headwright::bench
