// What this process may use: processors and memory.
#pragma once
#include <cstdint>
#include <string_view>

namespace headwright::support {

/// Processors that the process may use: affinity and the container's quota, at least 1.
int usable_processors();

/// Bytes of memory that can still be taken: what the system has free, within the container's limit.
std::int64_t usable_memory();

/// True of the text of a failed allocation. torch has one error type for many causes; only the text tells them apart.
bool means_out_of_memory(std::string_view text);

/// Makes an allocation beyond usable_memory() fail in this process, with an error that can be reported, where the
/// system would grant it now and end some process later.
void limit_memory();

/// Keeps freed memory in the process, so that large tensors do not page-fault each time they are made.
void keep_freed_memory();

}  // namespace headwright::support
