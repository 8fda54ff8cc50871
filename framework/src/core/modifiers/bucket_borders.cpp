// Finds the borders of T5's buckets in whole numbers, so that no rounding moves one.
#include "core/modifiers/bucket_borders.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace headwright::core {
namespace {

__extension__ using Wide = unsigned __int128;

/// A whole number of any size, made by multiplication: digits of 64 bits, the lowest first.
class Whole {
 public:
  Whole& times(std::int64_t factor, std::int64_t how_often) {
    for (std::int64_t i = 0; i < how_often; ++i) times(static_cast<std::uint64_t>(factor));
    return *this;
  }
  bool operator>=(const Whole& other) const {
    if (digits_.size() != other.digits_.size()) return digits_.size() > other.digits_.size();
    return !std::ranges::lexicographical_compare(std::views::reverse(digits_), std::views::reverse(other.digits_));
  }

 private:
  void times(std::uint64_t factor) {
    Wide carry = 0;
    for (auto& digit : digits_) {
      carry += Wide{digit} * factor;
      digit = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    if (carry != 0) digits_.push_back(static_cast<std::uint64_t>(carry));
  }
  std::vector<std::uint64_t> digits_{1};
};

}  // namespace

std::vector<std::int64_t> far_borders(std::int64_t n_exact, std::int64_t n_far, std::int64_t max_distance) {
  // (r / n_exact)^n_far >= (max_distance / n_exact)^i
  const auto reaches = [&](std::int64_t r, std::int64_t i) {
    return Whole().times(r, n_far).times(n_exact, i) >= Whole().times(max_distance, i).times(n_exact, n_far);
  };
  const double ratio = static_cast<double>(max_distance) / static_cast<double>(n_exact);
  std::vector<std::int64_t> borders;
  for (std::int64_t i = 1; i < n_far; ++i) {
    const auto near =
        static_cast<double>(n_exact) * std::pow(ratio, static_cast<double>(i) / static_cast<double>(n_far));
    constexpr double kRounding = 1e-12;  // of pow, with room
    auto least = static_cast<std::int64_t>(std::ceil(near * (1 - kRounding)));
    auto most = static_cast<std::int64_t>(std::ceil(near * (1 + kRounding)));
    while (least < most) {  // a whole number is so near that it has to be asked
      const auto middle = least + (most - least) / 2;
      if (reaches(middle, i)) most = middle;
      else least = middle + 1;
    }
    borders.push_back(least);
  }
  return borders;
}

}  // namespace headwright::core
