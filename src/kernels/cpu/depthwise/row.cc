// compiled: by hand
#include "kernels/cpu/depthwise/row.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cpu/depthwise/byte_window.h"

#ifndef FETTLE_DEPTHWISE_TAPS
#define FETTLE_DEPTHWISE_TAPS
namespace fettle::kernels {
/// Output `ow`, or `most` of them from there on that meet no padding, by kernel columns [k0, k1).
struct TapsKernels {
  using Run = void (*)(const DepthwiseRow& row, const float* const* weights, int64_t ow, int64_t k0,
                       int64_t k1);
  int64_t most;
  Run many, one;
};
}  // namespace fettle::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/row.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Neighbouring outputs that share the loads of a row: so many sums hide the latency of
/// multiply-adds, and leave registers for the weights of a kernel row.
constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32 : 16;
constexpr int kWidths[] = {14, 7, 4, 1};
constexpr bool HasWidth(DepthwiseForm form, int kernel, int dilation, int width) {
  // Bytes are bound by their conversion.
  if (form != DepthwiseForm::kFloats || kernel > 7) return width <= 4;
  // Most of the other floats are computed from padded lines (padded.h).
  if ((kernel == 7 || dilation * kernel == 10) && kRegisters == 32 && width == 7) return false;
  return width <= kRegisters - kernel - 3;
}

/// Elements as they lie in memory, by form.
template <DepthwiseForm kForm>
using In = std::conditional_t<kForm == DepthwiseForm::kFloats, float, uint8_t>;
template <DepthwiseForm kForm>
using Out = std::conditional_t<kForm == DepthwiseForm::kBytes, uint8_t, float>;

/// The constants of one call in registers.
template <DepthwiseForm kForm>
struct Codec {
  V low, high, in_zero;
  const float* scale_end;  // behind the last channel's
  hn::Vec<hn::RebindToSigned<D>> out_zero;
  hn::Vec<hn::Rebind<uint8_t, D>> in_flip, out_flip;

  explicit HWY_INLINE Codec(const DepthwiseCommon& work) {
    const hn::Rebind<uint8_t, D> bytes;
    low = hn::Set(D(), work.low);
    high = hn::Set(D(), work.high);
    scale_end = work.scale == nullptr ? nullptr : work.scale + work.channels;
    in_zero = hn::Set(D(), static_cast<float>(work.in_zero));
    out_zero = hn::Set(hn::RebindToSigned<D>(), work.out_zero);
    in_flip = hn::Set(bytes, work.in_flip);
    out_flip = hn::Set(bytes, work.out_flip);
  }

  HWY_INLINE V Load(const In<kForm>* at) const {
    if constexpr (kForm == DepthwiseForm::kFloats) {
      return hn::LoadU(D(), at);
    } else {
      const hn::Rebind<uint8_t, D> bytes;
      const auto wide =
          hn::PromoteTo(hn::RebindToSigned<D>(), hn::Xor(hn::LoadU(bytes, at), in_flip));
      return hn::Sub(hn::ConvertTo(D(), wide), in_zero);
    }
  }

  HWY_INLINE void Store(V x, int64_t left, Out<kForm>* out) const {
    if constexpr (kForm != DepthwiseForm::kFloats) {
      x = hn::Mul(x, hn::LoadU(D(), scale_end - left));
    }
    if constexpr (kForm == DepthwiseForm::kBytes) {
      // This order of operands makes the least byte of NaN.
      x = hn::Min(hn::Max(x, low), high);
      const hn::Rebind<uint8_t, D> bytes;
      const auto q = hn::Xor(hn::DemoteTo(bytes, hn::Add(hn::NearestInt(x), out_zero)), out_flip);
      if (left >= kLanes) {
        hn::StoreU(q, bytes, out);
      } else {
        uint8_t tail[HWY_LANES(float)];
        hn::StoreU(q, bytes, tail);
        for (int64_t i = 0; i < left && i < kLanes; ++i) out[i] = tail[i];
      }
    } else {
      x = ClampOrNan(x, low, high);
      if (left >= kLanes) return hn::StoreU(x, D(), out);
      StoreFirst(D(), x, left, out);
    }
  }
};

/// A kernel row: its taps, and how far outputs and taps lie apart.
template <int kTapCount, int kStrideOf, int kDilationOf>
struct RowWindow {
  static constexpr int kTaps = kTapCount, kStride = kStrideOf, kDilation = kDilationOf;
  static constexpr int Columns(int outputs) {
    return (outputs - 1) * kStride + (kTaps - 1) * kDilation + 1;
  }
};

/// Neighbouring outputs: each column is loaded once per kernel row and used by all taps that meet
/// it. Fold expressions keep everything in registers.
template <DepthwiseForm kForm, typename W, typename Outputs, typename Columns, typename Taps>
struct Block;
template <DepthwiseForm kForm, typename W, size_t... kOut, size_t... kColumn, size_t... kTap>
struct Block<kForm, W, std::index_sequence<kOut...>, std::index_sequence<kColumn...>,
             std::index_sequence<kTap...>> {
  static constexpr int kOutputs = sizeof...(kOut);
  static constexpr int kColumns = sizeof...(kColumn);

  template <int kAt, int kT>
  static HWY_INLINE void Tap(V* acc, V x, V w) {
    constexpr int kOffset = kAt - kT * W::kDilation;
    if constexpr (kOffset >= 0 && kOffset % W::kStride == 0 && kOffset / W::kStride < kOutputs)
      acc[kOffset / W::kStride] = hn::MulAdd(x, w, acc[kOffset / W::kStride]);
  }
  template <int kAt>
  static HWY_INLINE void Column(V* acc, V x, const V* w) {
    (Tap<kAt, static_cast<int>(kTap)>(acc, x, w[kTap]), ...);
  }

  /// `pointers`: [line][column]; null: column j of a line lies at line + (first + j) * in_pixel.
  /// Not inlined: its two callers would each hold a copy.
  static HWY_NOINLINE void Run(const DepthwiseRow& row, const In<kForm>* const* pointers,
                               int64_t first, Out<kForm>* out) {
    const Codec<kForm> codec(row);
    const int64_t step = row.in_pixel, out_step = row.out_pixel, w_step = row.padded_channels;
    for (int64_t c = 0; c < row.channels; c += kLanes) {
      const V bias = hn::LoadU(D(), row.bias + c);
      V acc[kOutputs] = {((void)kOut, bias)...};
      const float* weights = row.weights + c;
      for (int64_t line = 0; line < row.num_lines; ++line, weights += W::kTaps * w_step) {
        const V w[W::kTaps] = {hn::LoadU(D(), weights + static_cast<int64_t>(kTap) * w_step)...};
        if (pointers != nullptr) {
          const In<kForm>* const* at = pointers + line * kColumns;
          (Column<static_cast<int>(kColumn)>(acc, codec.Load(at[kColumn] + c), w), ...);
        } else {
          const auto* at = reinterpret_cast<const In<kForm>*>(row.lines[line]) + first * step + c;
          ((Column<static_cast<int>(kColumn)>(acc, codec.Load(at), w), at += step), ...);
        }
      }
      (codec.Store(acc[kOut], row.channels - c, out + static_cast<int64_t>(kOut) * out_step + c),
       ...);
    }
  }
};

/// `pointers` [line][column] to the pixels from `first` on, and to zeros beside the rows.
template <DepthwiseForm kForm>
HWY_NOINLINE void PointAtColumns(const DepthwiseRow& row, int64_t first, int64_t columns,
                                 const In<kForm>** pointers) {
  for (int64_t line = 0; line < row.num_lines; ++line) {
    const auto* pixels = reinterpret_cast<const In<kForm>*>(row.lines[line]);
    for (int64_t iw = first; iw < first + columns; ++iw) {
      *pointers++ = iw >= 0 && iw < row.in_width ? pixels + iw * row.in_pixel
                                                 : reinterpret_cast<const In<kForm>*>(row.zeros);
    }
  }
}

template <DepthwiseForm kForm, typename W, int kOutputs>
void RunBlock(const DepthwiseRow& row, int64_t ow) {
  constexpr int kColumns = W::Columns(kOutputs);
  using B = Block<kForm, W, std::make_index_sequence<kOutputs>, std::make_index_sequence<kColumns>,
                  std::make_index_sequence<W::kTaps>>;
  const int64_t first = ow * W::kStride - row.pad;
  auto* out = reinterpret_cast<Out<kForm>*>(row.out) + ow * row.out_pixel;
  if (first >= 0 && first + kColumns <= row.in_width) return B::Run(row, nullptr, first, out);
  const In<kForm>* pointers[kMaxDepthwiseLines * kColumns];
  PointAtColumns<kForm>(row, first, kColumns, pointers);
  B::Run(row, pointers, first, out);
}

template <DepthwiseForm kForm, typename W, int kOutputs>
void RunBlocks(const DepthwiseRow& row) {
  // The last block overlaps the one before: it writes the same values again.
  for (int64_t ow = 0; ow < row.out_width; ow += kOutputs)
    RunBlock<kForm, W, kOutputs>(row, std::min(ow, row.out_width - kOutputs));
}

/// The outputs of a block that a row of `width` outputs takes least time with.
int WidthOf(DepthwiseForm form, int kernel, int dilation, int width) {
  // Of long rows wide blocks walk more lines at once than prefetchers follow.
  const int most = kernel == 3 && width > 28 ? 4 : width;
  int best = 1, least = std::numeric_limits<int>::max();
  for (const int outputs : kWidths) {
    if (outputs > most || !HasWidth(form, kernel, dilation, outputs)) continue;
    // What a block costs beside its outputs is worth about as much as two of them.
    const int cost = (width + outputs - 1) / outputs * (outputs + 2);
    if (cost < least) best = outputs, least = cost;
  }
  return best;
}

template <DepthwiseForm kForm, int kTaps, int kStride, int kDilation = 1>
void RunRowOf(const DepthwiseRow& row) {
  const int width = WidthOf(kForm, kTaps, kDilation, static_cast<int>(row.out_width));
  const auto run = [&](auto outputs) {
    if constexpr (HasWidth(kForm, kTaps, kDilation, outputs())) {
      using W = RowWindow<kTaps, kStride, kDilation>;
      if (width == outputs()) RunBlocks<kForm, W, outputs()>(row);
    }
  };
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (run(std::integral_constant<int, kWidths[kIndex]>()), ...);
  }
  (std::make_index_sequence<std::size(kWidths)>());
}

template <DepthwiseForm kForm>
void RunRowAs(const DepthwiseRow& row) {
  constexpr bool kIsFloat = kForm == DepthwiseForm::kFloats;
  switch (row.kernel_width * 100 + row.stride * 10 + row.dilation) {
    case 311: return RunRowOf<kForm, 3, 1>(row);
    case 312: return RunRowOf<kForm, 3, 1, 2>(row);
    case 321: return RunRowOf<kForm, 3, 2>(row);
    case 511: return RunRowOf<kForm, 5, 1>(row);
    case 512: return RunRowOf<kForm, 5, 1, 2>(row);
    case 521: return RunRowOf<kForm, 5, 2>(row);
    case 711: return RunRowOf<kForm, 7, 1>(row);
    default: return RunRowOf < kForm, kIsFloat ? 9 : 7, kIsFloat ? 1 : 2 > (row);
  }
}

/// Of a scalar short: hardly any processor runs it.
void RunRow(const DepthwiseRow& row) {
#if HWY_TARGET == HWY_SCALAR
  const float* weights[kMaxDepthwiseLines];
  for (int64_t i = 0; i < row.num_lines; ++i)
    weights[i] = row.weights + i * row.kernel_width * row.padded_channels;
  RunDepthwiseTaps(row, weights);
#else
  if constexpr (HWY_TARGET == HWY_AVX2) {
    if (TakesByteWindow(row)) return RunByteWindows({&row, 1});
  }
  switch (row.form) {
    case DepthwiseForm::kFloats: return RunRowAs<DepthwiseForm::kFloats>(row);
    case DepthwiseForm::kFloatsFromBytes: return RunRowAs<DepthwiseForm::kFloatsFromBytes>(row);
    case DepthwiseForm::kBytes: return RunRowAs<DepthwiseForm::kBytes>(row);
  }
#endif
}

/// kOutputs neighbouring outputs by the kernel columns [k0, k1), which lie inside of the lines for
/// all of them.
template <DepthwiseForm kForm, int kOutputs>
HWY_NOINLINE void RunTapsOf(const DepthwiseRow& row, const float* const* weights, int64_t ow,
                            int64_t k0, int64_t k1) {
  const Codec<kForm> codec(row);
  const int64_t step = row.stride * row.in_pixel, tap = row.dilation * row.in_pixel;
  const int64_t first = (ow * row.stride - row.pad + k0 * row.dilation) * row.in_pixel;
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    V acc[kOutputs];
    for (int o = 0; o < kOutputs; ++o) acc[o] = hn::LoadU(D(), row.bias + c);
#pragma GCC unroll 1
    for (int64_t line = 0; line < row.num_lines; ++line) {
      const auto* x = reinterpret_cast<const In<kForm>*>(row.lines[line]) + first + c;
      const float* w = weights[line] + k0 * row.padded_channels + c;
#pragma GCC unroll 1
      for (int64_t k = k0; k < k1; ++k, x += tap, w += row.padded_channels) {
        const V weight = hn::LoadU(D(), w);
        for (int o = 0; o < kOutputs; ++o)
          acc[o] = hn::MulAdd(codec.Load(x + o * step), weight, acc[o]);
      }
    }
    auto* out = reinterpret_cast<Out<kForm>*>(row.out) + ow * row.out_pixel + c;
    for (int o = 0; o < kOutputs; ++o)
      codec.Store(acc[o], row.channels - c, out + o * row.out_pixel);
  }
}

template <DepthwiseForm kForm>
TapsKernels TapsKernelsAs() {
  constexpr int kMany = HWY_TARGET == HWY_SCALAR ? 1 : kForm == DepthwiseForm::kFloats ? 8 : 2;
  return {kMany, RunTapsOf<kForm, kMany>, RunTapsOf<kForm, 1>};
}

TapsKernels TapsKernelsOf(DepthwiseForm form) {
  switch (form) {
    case DepthwiseForm::kFloats: return TapsKernelsAs<DepthwiseForm::kFloats>();
    case DepthwiseForm::kFloatsFromBytes: return TapsKernelsAs<DepthwiseForm::kFloatsFromBytes>();
    default: return TapsKernelsAs<DepthwiseForm::kBytes>();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunRow);
HWY_EXPORT(TapsKernelsOf);

bool HasDepthwiseRow(int64_t kernel_width, int64_t stride, int64_t dilation, bool is_float) {
  if (stride < 1 || stride > 2 || dilation < 1 || stride * dilation > 2) return false;
  switch (kernel_width) {
    case 3:
    case 5: return true;
    case 7: return (!is_float || stride == 1) && dilation == 1;
    case 9: return is_float && stride == 1 && dilation == 1;
    default: return false;
  }
}

void RunDepthwiseRow(const DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(RunRow)(row); }

void RunDepthwiseTaps(const DepthwiseRow& row, const float* const* weights) {
  const TapsKernels kernels = HWY_DYNAMIC_DISPATCH(TapsKernelsOf)(row.form);
  const int64_t taps = row.kernel_width, stride = row.stride, dilation = row.dilation;
  // Outputs [begin, end) meet no padding.
  const int64_t begin = row.pad > 0 ? (row.pad + stride - 1) / stride : 0;
  const int64_t last = row.in_width - 1 - (taps - 1) * dilation + row.pad;
  const int64_t end = last < 0 ? 0 : std::min(row.out_width, last / stride + 1);
  for (int64_t ow = 0; ow < row.out_width;) {
    if (ow >= begin && ow < end && end - begin >= kernels.most) {
      // The last block overlaps the one before: it writes the same values again.
      kernels.many(row, weights, std::min(ow, end - kernels.most), 0, taps);
      ow = std::min(ow + kernels.most, end);
      continue;
    }
    const int64_t at = ow * stride - row.pad, left = std::max<int64_t>(row.in_width - at, 0);
    const int64_t k0 = at < 0 ? (-at + dilation - 1) / dilation : 0;
    kernels.one(row, weights, ow++, k0, std::min(taps, (left + dilation - 1) / dilation));
  }
}

}  // namespace fettle::kernels
#endif
