// Lets pieces of work take turns, so that a change in the machine's speed meets all of them.
#include "bench/turns.h"

namespace headwright::bench {

std::size_t Turns::add(const Work& work, Pass pass) {
  all_.push_back({work, pass, {}});
  return all_.size() - 1;
}

void Turns::round(bool forwards, bool counts) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto& [work, pass, seconds] = all_[forwards ? i : all_.size() - 1 - i];
    const auto taken = pass == Pass::forward ? time_forward(work) : time_backward(work);
    if (counts) seconds.push_back(taken);
  }
}

}  // namespace headwright::bench
