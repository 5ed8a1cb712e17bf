// Loops over memory: what bandwidths are measured with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fettle::kernels {

/// What memories begin and end at: 64 bytes, and whole rounds of the loops, whatever the vectors.
inline constexpr int64_t kMemoryGranule = 8 * 64 * 4;

/// A way to go through memory, `passes` times over. `from` and `to` hold `bytes` each, a multiple
/// of kMemoryGranule, and are distinct; all words of `from` are equal and no zero. False where the
/// result is not what it should be. Thread-safe.
struct MemoryLoop {
  std::string_view name;  // "read", "write", "copy" or "update"
  bool (*run)(const uint32_t* from, uint32_t* to, int64_t bytes, int64_t passes) = nullptr;
  bool uses_from = false, uses_to = false;
  /// How often each byte of the working set moves: what is changed in place is read and written.
  int moves = 1;
  /// Memories that a working set is made of.
  int memories() const { return (uses_from ? 1 : 0) + (uses_to ? 1 : 0); }
};
std::span<const MemoryLoop> MemoryLoops();

}  // namespace fettle::kernels
