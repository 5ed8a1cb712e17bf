// From i32 sums to what is stored: bytes of the next scale, or floats.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cpu/quantised/fused_sum.h"

namespace fettle::kernels {

inline constexpr int kMaxTileSums = 1024;

/// Factor and addend of columns that are `step` elements apart, or of all where that is 0.
struct ScaledFloats {
  const float *factor = nullptr, *addend = nullptr;
  int64_t factor_step = 0, addend_step = 0;
  float least = 0, greatest = 0;
};

/// result = (sum + init[n] - row_sums[m] * w_zero[n]) * scale[n] + add[n], for `rows` rows of
/// `columns` columns.
struct RequantiseArgs {
  const int32_t* sums = nullptr;
  int64_t sums_stride = 0;
  int64_t rows = 0, columns = 0;
  const int32_t* init = nullptr;      // null: the sums hold it
  const int32_t* row_sums = nullptr;  // null: none
  const int32_t* w_zero = nullptr;
  const float* scale = nullptr;
  const float* add = nullptr;

  /// Where bytes are stored: round(result) + zero, within [low, high].
  uint8_t* bytes = nullptr;
  bool is_signed = false;
  int32_t zero = 0, low = 0, high = 255;
  /// Otherwise floats, or the corrected sums themselves.
  float* floats = nullptr;
  /// Null, or what makes floats of results: min(max(result * factor + addend, least), greatest).
  const ScaledFloats* scaled = nullptr;
  int32_t* ints = nullptr;
  int64_t out_stride = 0;  // elements

  /// Where there is one, such bytes are not stored: their sum with other bytes is, which lie like
  /// what is stored.
  const PairRowArgs* sum = nullptr;  // the types of its operands, a and b, and of itself
  const FusedSum* fused = nullptr;   // the same in fewer steps; null: there is none
  const uint8_t* shortcut = nullptr;
};

/// Stores floats: (sum * scale[n]) + add[n], both rounded.
void RunScaledSums(const RequantiseArgs& args);

using Requantise = void (*)(const RequantiseArgs& args);
void RunRequantise(const RequantiseArgs& args);
/// RunRequantise where sums become bytes and |result| stays below 2^31; four times as fast. Only
/// where CpuInfo says avx512_vnni.
void RequantiseBytesAvx512(const RequantiseArgs& args);
/// The same by vectors of 256 bits. Only where CpuInfo says avx2.
void RequantiseBytesAvx2(const RequantiseArgs& args);
/// The quickest function that this machine runs. `bounded`: |result| stays below 2^31.
Requantise RequantiseFor(bool bounded);

/// RunRequantise, then a sum of bytes.
void RunSum(const RequantiseArgs& args);
/// RunSum in registers, where quotients stay below 2^31.
void RunSumAvx512(const RequantiseArgs& args);
void RunSumAvx2(const RequantiseArgs& args);
/// The quicker of the two for sums of these types.
Requantise SumFor(const PairRowArgs& sum);

}  // namespace fettle::kernels
