#include <algorithm>
#include <utility>

#include "kernels/cpu/depthwise/byte_window.h"
#include "kernels/cpu/depthwise/row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/walk.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/depthwise/pair-inl.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// A 3x3 kernel's weights take nine registers, which leaves too few sums where there are sixteen.
constexpr bool kWalks = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr int kTaps = 3;

/// Output rows a vector of channels at a time. The weights stay in registers from block to block
/// of neighbouring outputs; columns outside of the lines are left out when compiled.
template <int kStride, typename Outputs, typename Columns>
struct Walk;
template <int kStride, size_t... kOut, size_t... kColumn>
struct Walk<kStride, std::index_sequence<kOut...>, std::index_sequence<kColumn...>> {
  static constexpr int kOutputs = sizeof...(kOut);
  static constexpr int kColumns = sizeof...(kColumn);

  /// What all blocks of a row share.
  struct Row {
    V low, high, bias;
    V w[kTaps * kTaps];
    const float* lines[kTaps];  // column 0
    int64_t step, out_step, channels;
    float* out;

    HWY_INLINE Row(const DepthwiseRow& row, int64_t c) {
      low = hn::Set(D(), row.low);
      high = hn::Set(D(), row.high);
      bias = hn::LoadU(D(), row.bias + c);
      for (int t = 0; t < kTaps * kTaps; ++t)
        w[t] = hn::LoadU(D(), row.weights + c + t * row.padded_channels);
      for (int i = 0; i < kTaps; ++i) lines[i] = reinterpret_cast<const float*>(row.lines[i]) + c;
      step = row.in_pixel;
      out_step = row.out_pixel;
      channels = row.channels - c;
      out = reinterpret_cast<float*>(row.out) + c;
    }
  };

  template <int kAt, bool kLeft, bool kRight>
  static HWY_INLINE void Column(V* acc, const float* line, int64_t step, const V* w) {
    if constexpr (!(kLeft && kAt == 0) && !(kRight && kAt == kColumns - 1)) {
      const V x = hn::LoadU(D(), line + (kAt - kLeft) * step);
      AddTap<kStride, kOutputs, kAt, 0>(acc, x, w[0]);
      AddTap<kStride, kOutputs, kAt, 1>(acc, x, w[1]);
      AddTap<kStride, kOutputs, kAt, 2>(acc, x, w[2]);
    }
  }
  static HWY_INLINE void Store(const Row& row, V sum, float* out) {
    const V y = ClampOrNan(sum, row.low, row.high);
    if (row.channels >= kLanes) {
      hn::StoreU(y, D(), out);
    } else {
      StoreFirst(D(), y, row.channels, out);
    }
  }

  /// Outputs from `ow` on, whose first column is `first`. kLeft, kRight: the first or last column
  /// lies outside of the line.
  template <bool kLeft, bool kRight>
  static HWY_INLINE void Block(const Row& row, int64_t ow, int64_t first) {
    V acc[kOutputs] = {((void)kOut, row.bias)...};
    const int64_t step = row.step;
    for (int i = 0; i < kTaps; ++i) {
      const float* line = row.lines[i] + (first + kLeft) * step;
      // Else g++ keeps an address for each column of each line, most of them in memory.
      asm("" : "+r"(line));
      (Column<static_cast<int>(kColumn), kLeft, kRight>(acc, line, step, row.w + i * kTaps), ...);
    }
    float* out = row.out + ow * row.out_step;
    asm("" : "+r"(out));
    (Store(row, acc[kOut], out + static_cast<int64_t>(kOut) * row.out_step), ...);
  }

  static void Run(const DepthwiseRow& work, int64_t c) {
    const Row row(work, c);
    const int64_t last = work.out_width - kOutputs, pad = work.pad;
    const bool right = last * kStride - pad + kColumns > work.in_width;
    int64_t ow = 0;
    if (pad != 0) {
      if (last == 0 && right) return Block<true, true>(row, 0, -pad);
      Block<true, false>(row, 0, -pad);
      ow = kOutputs;
    }
    for (; ow < last; ow += kOutputs) Block<false, false>(row, ow, ow * kStride - pad);
    // The last block overlaps the one before: it writes the same values again.
    if (last == 0 && pad != 0) return;
    if (right) return Block<false, true>(row, last, last * kStride - pad);
    Block<false, false>(row, last, last * kStride - pad);
  }
};

template <int kStride, int kOutputs>
void WalkRow(const DepthwiseRow& row, int64_t c) {
  Walk<kStride, std::make_index_sequence<kOutputs>,
       std::make_index_sequence<(kOutputs - 1) * kStride + kTaps>>::Run(row, c);
}

/// Outputs of a block: so many sums hide the latency of multiply-adds.
constexpr int kNarrow = 4, kWide = 7;

bool CanWalk(const DepthwiseRow& row) {
  const int64_t columns = (row.out_width - 1) * row.stride + kTaps;
  return kWalks && row.form == DepthwiseForm::kFloats && row.kernel_width == kTaps &&
         row.dilation == 1 && row.stride <= 2 && row.num_lines == kTaps && row.pad <= 1 &&
         row.out_width >= kNarrow && columns - row.pad <= row.in_width + 1;
}

void WalkRows(const DepthwiseRow* rows, int64_t count) {
  if constexpr (kWalks) {
    const DepthwiseRow& first = rows[0];
    const auto blocks = [&](int64_t outputs) { return (first.out_width + outputs - 1) / outputs; };
    // What a block costs beside its outputs is worth about as much as one of them.
    const bool wide =
        first.out_width >= kWide && blocks(kWide) * (kWide + 1) <= blocks(kNarrow) * (kNarrow + 1);
    const auto walk = first.stride == 1 ? (wide ? WalkRow<1, kWide> : WalkRow<1, kNarrow>)
                                        : (wide ? WalkRow<2, kWide> : WalkRow<2, kNarrow>);
    for (int64_t c = 0; c < first.channels; c += kLanes) {
      for (int64_t i = 0; i < count; ++i) walk(rows[i], c);
    }
  }
}

/// Rows in pairs where they can, each other one alone.
void RunInPairs(const DepthwiseRow* rows, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + 1 < count && CanPair(rows[i], rows[i + 1])) {
      RunPair(rows[i], rows[i + 1]);
      ++i;
    } else {
      RunDepthwiseRow(rows[i]);
    }
  }
}

/// Neighbours that can walk together, each other one alone.
void RunWalking(const DepthwiseRow* rows, int64_t count) {
  int64_t done = 0;
  for (int64_t i = 0; i <= count; ++i) {
    if (i < count && CanWalk(rows[i])) continue;
    if (i > done) WalkRows(rows + done, i - done);
    if (i < count) RunDepthwiseRow(rows[i]);
    done = i + 1;
  }
}

void RunRows(const DepthwiseRow* rows, int64_t count) {
  (HWY_TARGET == HWY_AVX2 ? RunInPairs : RunWalking)(rows, count);
}

bool TakeByteWindows(const DepthwiseRow* rows, int64_t count) {
  return HWY_TARGET == HWY_AVX2 && std::all_of(rows, rows + count, TakesByteWindow);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunRows);
HWY_EXPORT(TakeByteWindows);

void RunDepthwiseRows(std::span<const DepthwiseRow> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (HWY_DYNAMIC_DISPATCH(TakeByteWindows)(rows.data(), count)) return RunByteWindows(rows);
  HWY_DYNAMIC_DISPATCH(RunRows)(rows.data(), count);
}

}  // namespace fettle::kernels
#endif
