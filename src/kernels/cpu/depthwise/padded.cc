// compiled: by hand
#include "kernels/cpu/depthwise/padded.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cpu/depthwise/row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/padded.cc"
#include "hwy/cache_control.h"
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

/// Neighbouring outputs whose sums stay in registers, widest first: eight hide what multiply-adds
/// wait, beside the weights of a kernel row.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr int kWidths[] = {16, 14, 8, 7, 4};
constexpr bool HasWidth(int taps, int stride, int width) {
  // Some windows are rare, and so is a scalar.
  if (HWY_TARGET == HWY_SCALAR) return false;
  if (taps == 9 && stride == 1) return width == 7;
  if (!HasPaddedWindow(taps, stride))
    return width == 4 || (kManyRegisters ? width == 14 || width == 7 : width == 8);
  if (taps == 3 && (width == 14 || (stride == 2 && width > 8))) return false;
  if (taps == 7 && stride == 2 && width == 16) return false;
  return kManyRegisters ? width != 8 : width <= 8;
}

HWY_INLINE void StoreZeros(int64_t pixels, float* out) {
  const V zero = hn::Zero(D());
  for (int64_t i = 0; i < pixels * kDepthwisePad; i += kLanes) hn::StoreU(zero, D(), out + i);
}

template <class Load>
HWY_INLINE void CopyPixels(const float* from, int64_t step, int64_t pixels, float* to,
                           const Load& load) {
  for (int64_t i = 0; i < pixels; ++i, from += step, to += kDepthwisePad)
    hn::StoreU(load(from), D(), to);
}

/// Pixels that lie `step` apart.
void CopyInside(const PaddedWork& work, const float* from, int64_t step, int64_t pixels,
                float* to) {
  if (work.multiplier == 1) {
    for (int64_t c = 0; c < work.channels; c += kLanes)
      CopyPixels(from + c, step, pixels, to + c,
                 [](const float* at) HWY_ATTR { return hn::LoadU(D(), at); });
    return;
  }
  const int64_t begin = work.first / work.multiplier;
  for (int64_t c = 0; c < work.channels; c += kLanes) {
    const int64_t skipped = (work.first + c) / work.multiplier;
    HWY_ALIGN int32_t lanes[kLanes];
    for (int64_t l = 0; l < kLanes; ++l)
      lanes[l] = static_cast<int32_t>((work.first + c + l) / work.multiplier - skipped);
    const auto repeated = hn::SetTableIndices(D(), lanes);
    CopyPixels(from + skipped - begin, step, pixels, to + c, [&](const float* at) HWY_ATTR {
      return hn::TableLookupLanes(hn::LoadU(D(), at), repeated);
    });
  }
}

HWY_INLINE int64_t DivideUp(int64_t n, int64_t by) { return by == 1 ? n : (n + by - 1) / by; }

void CopyLine(const PaddedWork& work, const PaddedCopy& copy) {
  const int64_t apart = work.dilation, columns = DivideUp(work.columns, apart);
  float* to = copy.to;
  for (int64_t phase = 0; phase < apart; ++phase, to += columns * kDepthwisePad) {
    const int64_t before = DivideUp(std::max<int64_t>(work.before - phase, 0), apart);
    const int64_t end = work.before + work.inside - phase;
    const int64_t behind = std::max(before, DivideUp(std::max<int64_t>(end, 0), apart));
    const int64_t at = phase + before * apart - work.before;
    StoreZeros(before, to);
    CopyInside(work, work.x + copy.from + at * work.in_pixel, apart * work.in_pixel,
               behind - before, to + before * kDepthwisePad);
    StoreZeros(columns - behind, to + behind * kDepthwisePad);
  }
}

HWY_NOINLINE void StoreTails(const float* tails, int64_t count, int64_t left, float* out,
                             int64_t step) {
  for (int64_t i = 0; i < count; ++i) std::copy_n(tails + i * kLanes, left, out + i * step);
}

/// A block's sums to its outputs.
template <size_t... kOut>
HWY_INLINE void StoreSums(const PaddedWork& work, const PaddedAt& at, const V* acc) {
  constexpr int kOutputs = sizeof...(kOut);
  const V low = hn::Set(D(), work.low), high = hn::Set(D(), work.high);
  const int64_t left = work.channels - at.channel, step = work.dilation * work.out_pixel;
  HWY_ALIGN float tails[kOutputs * kLanes];
  const bool whole = left >= kLanes;
  float* to = whole ? at.out : tails;
  const int64_t apart = whole ? step : kLanes;
  ((hn::StoreU(ClampOrNan(acc[kOut], low, high), D(), to), to += apart), ...);
  if (!whole) StoreTails(tails, kOutputs, left, at.out, step);
}

/// A block of kOutputs neighbouring outputs.
template <int kTaps, int kStride, typename Outputs, typename Columns, typename Taps>
struct Padded;
template <int kTaps, int kStride, size_t... kOut, size_t... kColumn, size_t... kTap>
struct Padded<kTaps, kStride, std::index_sequence<kOut...>, std::index_sequence<kColumn...>,
              std::index_sequence<kTap...>> {
  static constexpr int kOutputs = sizeof...(kOut);

  template <int kAt>
  static HWY_INLINE void Column(V* acc, const float* line, const V* w) {
    const V x = hn::LoadU(D(), line + kAt * kDepthwisePad);
    (AddTap<kStride, kOutputs, kAt, static_cast<int>(kTap)>(acc, x, w[kTap]), ...);
  }

  static HWY_NOINLINE void Run(const PaddedWork& work, const PaddedRow& row, const PaddedAt& at) {
    const V bias = hn::LoadU(D(), work.bias + at.channel);
    V acc[kOutputs] = {((void)kOut, bias)...};
    const float* weights = work.weights + at.channel;
    for (int64_t i = 0; i < row.num_lines; ++i) {
      const float* line = row.lines[i] + at.in;
      const float* of_line = weights + row.weights_at[i];
      const V w[kTaps] = {hn::LoadU(D(), of_line + static_cast<int64_t>(kTap) * kDepthwisePad)...};
      (Column<static_cast<int>(kColumn)>(acc, line, w), ...);
    }
    StoreSums<kOut...>(work, at, acc);
  }
};

/// The same by windows of any width, whose weights and columns are loaded tap by tap.
template <int kStride, typename Outputs>
struct AnyTaps;
template <int kStride, size_t... kOut>
struct AnyTaps<kStride, std::index_sequence<kOut...>> {
  static HWY_NOINLINE void Run(const PaddedWork& work, const PaddedRow& row, const PaddedAt& at) {
    constexpr int64_t kStep = kStride * kDepthwisePad;
    const V bias = hn::LoadU(D(), work.bias + at.channel);
    V acc[sizeof...(kOut)] = {((void)kOut, bias)...};
    for (int64_t i = 0; i < row.num_lines; ++i) {
      const float *x = row.lines[i] + at.in, *w = work.weights + row.weights_at[i] + at.channel;
      for (int64_t t = 0; t < work.taps; ++t, x += kDepthwisePad, w += kDepthwisePad) {
        const V weight = hn::LoadU(D(), w);
        ((acc[kOut] = hn::MulAdd(hn::LoadU(D(), x + kOut * kStep), weight, acc[kOut])), ...);
      }
    }
    StoreSums<kOut...>(work, at, acc);
  }
};

/// The vector of channels at `c`.
HWY_INLINE void RunChannels(const PaddedWork& work, const PaddedRow& row, int64_t c) {
  const PaddedBlocks& blocks = work.blocks;
  const int64_t apart = work.dilation;
  const int64_t columns = DivideUp(work.columns, apart) * kDepthwisePad;
  for (int64_t phase = 0; phase < apart; ++phase) {
    const int64_t outputs = DivideUp(work.outputs - phase, apart);
    float* out = work.out + row.out_at + c + phase * work.out_pixel;
    for (int64_t i = 0; i < outputs;) {
      const PaddedBlock& block = outputs - i >= blocks.main.outputs ? blocks.main : blocks.last;
      // The last block overlaps the one before: it writes the same values again.
      const int64_t ow = std::min(i, outputs - block.outputs);
      block.run(work, row,
                {.channel = c,
                 .in = phase * columns + ow * work.stride * kDepthwisePad + c,
                 .out = out + ow * apart * work.out_pixel});
      i += block.outputs;
    }
  }
}

void RunRows(const PaddedWork& work) {
  for (const PaddedRow* row = work.rows; row != work.rows + work.num_rows; ++row) {
    for (int64_t i = 0; i < row->num_copies; ++i) CopyLine(work, row->copies[i]);
    for (int64_t c = 0; c < work.channels; c += kLanes) RunChannels(work, *row, c);
  }
}

/// An output of any taps.
void RunOutput(const PaddedWork& work, const PaddedRow& row, const PaddedAt& at) {
  V sum = hn::LoadU(D(), work.bias + at.channel);
  for (int64_t i = 0; i < row.num_lines; ++i) {
    const float *x = row.lines[i] + at.in, *w = work.weights + row.weights_at[i] + at.channel;
    for (int64_t t = 0; t < work.taps * kDepthwisePad; t += kDepthwisePad)
      sum = hn::MulAdd(hn::LoadU(D(), x + t), hn::LoadU(D(), w + t), sum);
  }
  const V y = ClampOrNan(sum, hn::Set(D(), work.low), hn::Set(D(), work.high));
  const int64_t left = work.channels - at.channel;
  if (left >= kLanes) return hn::StoreU(y, D(), at.out);
  StoreFirst(D(), y, left, at.out);
}

/// The taps of windows that have no function of their own.
constexpr int kAnyTaps = 0;

template <int kTaps, int kStride, size_t... kIndex>
PaddedBlock BlockIn(int width, std::index_sequence<kIndex...>) {
  PaddedBlock found{RunOutput, 1};
  const auto take = [&](auto outputs) {
    if constexpr (HasWidth(kTaps, kStride, outputs()) && kTaps == kAnyTaps) {
      using Block = AnyTaps<kStride, std::make_index_sequence<outputs()>>;
      if (width == outputs()) found = {Block::Run, outputs()};
    } else if constexpr (HasWidth(kTaps, kStride, outputs())) {
      using Block = Padded<kTaps, kStride, std::make_index_sequence<outputs()>,
                           std::make_index_sequence<(outputs() - 1) * kStride + kTaps>,
                           std::make_index_sequence<kTaps>>;
      if (width == outputs()) found = {Block::Run, outputs()};
    }
  };
  (take(std::integral_constant<int, kWidths[kIndex]>()), ...);
  return found;
}

PaddedBlock BlockOf(int64_t taps, int64_t stride, int width) {
  constexpr std::make_index_sequence<std::size(kWidths)> kAll;
  switch (taps * 10 + stride) {
    case 31: return BlockIn<3, 1>(width, kAll);
    case 32: return BlockIn<3, 2>(width, kAll);
    case 51: return BlockIn<5, 1>(width, kAll);
    case 52: return BlockIn<5, 2>(width, kAll);
    case 71: return BlockIn<7, 1>(width, kAll);
    case 72: return BlockIn<7, 2>(width, kAll);
    case 91: return BlockIn<9, 1>(width, kAll);
    default:
      return stride == 1 ? BlockIn<kAnyTaps, 1>(width, kAll) : BlockIn<kAnyTaps, 2>(width, kAll);
  }
}

/// Those with which rows of `fewest` to `most` outputs take least time.
PaddedBlocks ChooseBlocks(int64_t taps, int64_t stride, int64_t fewest, int64_t most) {
  const auto has = [taps, stride](int width) {
    return HasWidth(static_cast<int>(taps), static_cast<int>(stride), width);
  };
  int main = 1, last = 1;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const int wide : kWidths) {
    for (const int narrow : kWidths) {
      if (!has(wide) || !has(narrow) || wide > fewest || narrow > wide) continue;
      // What a block costs beside its outputs is worth about as much as two of them, and another
      // function as one.
      const int64_t rest = most % wide;
      const int64_t cost = most / wide * (wide + 2) + (rest + narrow - 1) / narrow * (narrow + 2) +
                           (rest > 0 ? 1 : 0);
      if (cost < least) main = wide, last = narrow, least = cost;
    }
  }
  return {BlockOf(taps, stride, main), BlockOf(taps, stride, last), RunRows};
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ChooseBlocks);

PaddedBlocks ChoosePadded(int64_t kernel_width, int64_t stride, int64_t fewest, int64_t most) {
  return HWY_DYNAMIC_DISPATCH(ChooseBlocks)(kernel_width, stride, fewest, most);
}

}  // namespace fettle::kernels
#endif
