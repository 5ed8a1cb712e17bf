// The rows of words that the pixels of one task of a product of bits read.
#pragma once

#include <cstdint>

#include "kernels/cpu/binary/geometry.h"
#include "kernels/cpu/binary/results.h"

namespace fettle::kernels {

/// Pixels of one task: a panel stays in the first-level cache while they pass.
inline constexpr int64_t kTaskPixels = 64;

/// In memory of a lane; refilled for each task.
class TaskRows {
 public:
  static int64_t Bytes(int64_t taps);
  TaskRows(const ops::BinaryProduct& product, const BitGeometry& geometry, std::byte* memory);

  /// Pixels [first, first + pixels), in tiles of `tile`; those behind the last one read `beside`,
  /// as do taps in the padding, which count where `pads_count`. `counts_ones`: ones() is asked for.
  struct Pixels {
    int64_t first = 0, pixels = 0, tile = 1;
    bool pads_count = false, counts_ones = false;
  };
  void Fill(const uint64_t* x, const uint64_t* beside, const Pixels& pixels);

  /// Of the tile that begins with pixel `p` of the task: [tap][pixel].
  const uint64_t* const* tile(int64_t p) const { return rows_ + p * taps_; }
  /// Pairs of bits of each pixel, and ones among its own.
  const int32_t* pairs() const { return pairs_; }
  const int32_t* ones() const { return ones_; }
  OutsideTaps outside() const { return {borders_, border_count_, outside_, taps_ + 1}; }

 private:
  void AddBorder(int64_t p, const uint64_t* const* rows, int64_t stride, const uint64_t* beside);
  int32_t OnesOf(const uint64_t* const* rows, int64_t stride) const;

  const BitGeometry& geometry_;
  int64_t taps_, words_, channels_;
  int32_t *pairs_, *ones_;
  const uint64_t** rows_;
  int32_t *outside_, *borders_;
  int64_t border_count_ = 0;
};

}  // namespace fettle::kernels
