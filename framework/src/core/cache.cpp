// Appends to a cache in place while there is room, or keeps the newest tokens of a window.
#include "headwright/cache.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "headwright/shapes.h"

namespace headwright {

at::Tensor& Cache::at(std::string_view name) {
  const auto found = std::ranges::find(tensors, name, [](const auto& item) { return std::string_view(item.first); });
  if (found == tensors.end()) throw Error("[cache] no tensor is called '" + std::string(name) + "'");
  return found->second;
}

std::int64_t Cache::tokens() const { return length.item<std::int64_t>(); }

at::Tensor extend(Cache& cache, std::string_view name, const at::Tensor& rows, std::int64_t dim) {
  auto& all = cache.at(name);
  const auto before = cache.tokens(), after = before + rows.size(dim);
  if (after > all.size(dim)) {
    refuse_shape("cache", name, rows,
                 "at most " + std::to_string(all.size(dim) - before) + " tokens more: the capacity is " +
                     std::to_string(all.size(dim)));
  }
  all.slice(dim, before, after).copy_(rows);
  return all.slice(dim, 0, after);
}

at::Tensor slide(Cache& cache, std::string_view name, const at::Tensor& rows, std::int64_t dim) {
  auto& kept = cache.at(name);  // the newest token last; what no token has reached yet stands before them
  const auto room = kept.size(dim), held = std::min(cache.tokens(), room);
  const auto all = at::cat({kept, rows}, dim);
  kept = all.slice(dim, all.size(dim) - room).contiguous();
  return all.slice(dim, room - held);
}

}  // namespace headwright
