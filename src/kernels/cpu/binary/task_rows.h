// The pixels of one task of a product of bits.
#pragma once

#include <cstdint>

#include "kernels/cpu/binary/geometry.h"

namespace fettle::kernels {

/// Pixels of one task: a panel stays in the first-level cache for all of them.
inline constexpr int64_t kTaskPixels = 64;

/// In memory of a lane; refilled for each task.
class TaskRows {
 public:
  static constexpr int64_t kBytes = kTaskPixels * (8 + 3 * 4 + sizeof(BitSpan));
  explicit TaskRows(std::byte* memory)
      : bases_(reinterpret_cast<const uint64_t**>(memory)),
        classes_(reinterpret_cast<int32_t*>(memory + kTaskPixels * 8)),
        pairs_(classes_ + kTaskPixels),
        ones_(pairs_ + kTaskPixels),
        spans_(reinterpret_cast<BitSpan*>(ones_ + kTaskPixels)) {}

  /// Pixels [first, first + pixels) of `image`; up to the next multiple of `tile` the last one
  /// again. `has_pairs`, `counts_ones`, `in_spans`: pairs(), ones() and spans() are asked for.
  struct Pixels {
    int64_t first = 0, pixels = 0, tile = 1;
    bool has_pairs = true, counts_ones = false, in_spans = false;
  };
  void Fill(const ops::BinaryProduct& product, const BitGeometry& geometry, const uint64_t* image,
            const Pixels& pixels);

  /// Where the first tap of each pixel lies.
  const uint64_t* const* bases() const { return bases_; }
  const int32_t* classes() const { return classes_; }
  /// Pairs of bits of each pixel, and ones among its own.
  const int32_t* pairs() const { return pairs_; }
  const int32_t* ones() const { return ones_; }
  std::span<const BitSpan> spans() const { return {spans_, static_cast<size_t>(span_count_)}; }

 private:
  const uint64_t** bases_;
  int32_t *classes_, *pairs_, *ones_;
  BitSpan* spans_;
  int64_t span_count_ = 0;
};

}  // namespace fettle::kernels
