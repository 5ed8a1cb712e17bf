// Differing bits of a task of a product of bits, by the way that suits the machine.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu/binary/geometry.h"
#include "kernels/cpu/binary/pack_weights.h"
#include "kernels/cpu/binary/tile.h"

namespace fettle::kernels {

/// Counts words, panels one by one or two at once, or looks up tables; and arranges weights for
/// that. Immutable.
class BitCounter {
 public:
  BitCounter(const ops::BinaryProduct& product, const BitBlob& blob, const BitGeometry& geometry,
             bool by_tables);

  /// Part of a recipe: how Arrange leaves the weights.
  std::string_view arrangement() const;
  /// Weights of a blob as PackBitWeights left them, for Count.
  void Arrange(std::byte* blob) const;

  /// Whether pixels are counted in spans.
  bool takes_spans() const { return !by_tables_ && tile_.takes_spans; }
  /// Pixels that are counted together, of a task that has `pixels`; 1 where there are spans.
  int64_t TileOf(int64_t pixels) const;
  int64_t scratch_bytes() const;

  struct Task {
    const uint64_t* const* bases = nullptr;  // of whole tiles
    int64_t pixels = 0, tile = 1;
    std::span<const BitSpan> spans;  // of takes_spans()
    int64_t panel = 0, panels = 0;   // the first one begins a pair of its group
    std::byte* scratch = nullptr;    // 64-byte aligned
    int32_t* differ = nullptr;       // [pixel][panel][kBitOutputs], of whole tiles
    const float* beside = nullptr;   // BitTileArgs::beside, of the first panel
    int64_t beside_stride = 0;
  };
  void Count(const std::byte* blob, const Task& task) const;

 private:
  const uint64_t* WeightsOf(const std::byte* blob, int64_t panel) const {
    return reinterpret_cast<const uint64_t*>(blob) + panel * blob_.panel_words();
  }
  void ArrangeTables(std::byte* blob) const;
  void ArrangePairs(std::byte* blob) const;
  /// Panels that are counted alone.
  void ArrangeSingles(std::byte* blob) const;
  void ArrangeTwos(std::byte* blob) const;
  /// rows[p] = the words of all steps of pixel p, in the scratch.
  void Gather(const Task& task, const uint64_t** rows) const;
  void CountWords(const std::byte* blob, const Task& task) const;
  void CountTables(const std::byte* blob, const Task& task) const;

  BitBlob blob_;
  BitTile tile_;
  bool by_tables_;
  int64_t columns_, lines_;          // of the filter
  std::vector<int64_t> order_;       // [step] = of all taps' words, line by line, which one it is
  std::vector<int64_t> steps_;       // of words, in that order
  std::vector<int64_t> half_steps_;  // of halves of words that have channels
};

}  // namespace fettle::kernels
