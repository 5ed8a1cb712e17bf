// Pushing bytes out of the caches, so that what is timed next finds them where a network would.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle {

/// Writes back and drops these bytes from every cache of the machine. False where a process may not
/// do that on this processor: nothing has happened then. Thread-safe.
bool DropFromCaches(const std::byte* data, int64_t bytes);

}  // namespace fettle
