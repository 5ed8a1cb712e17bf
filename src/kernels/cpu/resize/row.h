// The two passes of a separable interpolation: rows blended into one, and one row spread along its
// width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// Output i of a row of `count` pixels is the sum over t < taps of weight * input pixel index.
/// Wide pixels (`inner` elements each) are blended vector by vector; narrow ones element by
/// element, with the tables expanded so that entry [t][i * inner + e] belongs to output element i *
/// inner + e, padded to whole vectors of any target with index 0 and weight 0.
struct SpreadTable {
  int64_t count = 0, inner = 1;
  int taps = 1;
  bool expanded = false;
  bool picks = false;  // each output of an expanded table is one element, as it is
  int64_t stride = 0;  // entries between taps
  std::vector<int32_t> index;
  std::vector<float> weight;
  int64_t lanes = 0;  // of the vectors that `base` is for
  /// [t][vector]: where one vector of inputs begins, or -1 to gather; and where a second one does,
  /// which holds those behind the first.
  std::vector<int32_t> base, second;
  bool needs_two = false;       // whether there are such second ones
  std::vector<int32_t> within;  // its vector
};

/// `index` and `weight` hold [i][t] for `count` outputs.
SpreadTable MakeSpreadTable(int64_t count, int taps, int64_t inner,
                            const std::vector<int64_t>& index, const std::vector<double>& weight);

/// One or two rows of one type (f32, u8, i8) and their weights.
struct BlendedRows {
  static constexpr int kMost = 2;

  const std::byte* from[kMost];
  float weight[kMost];
  int count = 0;
};
/// to = the sum of weight * row, or to += that, for `n` elements stored as `storage`.
void BlendRows(DType storage, const BlendedRows& rows, bool add, int64_t n, float* to);

/// Writes table.count * table.inner elements; reads up to 64 bytes behind the input row.
void SpreadRow(const SpreadTable& table, const float* from, float* to);

/// Of `count` rows of `n` elements of `bytes` (2 or 4): each element twice, in each of `rows` rows
/// that follow each other.
void DoubleRows(int64_t bytes, const std::byte* from, int64_t n, int64_t rows, int64_t count,
                std::byte* to);

/// How a float becomes a byte: clamp(round(x * mul + add)) to [least, greatest]; with `truncates`
/// the fraction is cut off in place of rounded.
struct ByteRounding {
  float mul = 1, add = 0, least = 0, greatest = 255;
  bool truncates = false;
};

/// `n` elements as `storage` (u8 or i8).
void StoreRounded(DType storage, const float* from, const ByteRounding& how, int64_t n,
                  std::byte* to);

}  // namespace fettle::kernels
