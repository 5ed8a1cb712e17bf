#include "kernels/cpu/depthwise/row.h"

#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/row.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Outputs that share the loads of a row.
constexpr int kWide = 4;

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
    // This order of operands lets NaN through.
    x = hn::Min(high, hn::Max(low, x));
    if constexpr (kForm == DepthwiseForm::kBytes) {
      const hn::Rebind<uint8_t, D> bytes;
      const auto q = hn::Xor(hn::DemoteTo(bytes, hn::Add(hn::NearestInt(x), out_zero)), out_flip);
      if (left >= kLanes) {
        hn::StoreU(q, bytes, out);
      } else {
        uint8_t tail[HWY_LANES(float)];
        hn::StoreU(q, bytes, tail);
        for (int64_t i = 0; i < left && i < kLanes; ++i) out[i] = tail[i];
      }
    } else if (left >= kLanes) {
      hn::StoreU(x, D(), out);
    } else {
      StoreFirst(D(), x, left, out);
    }
  }
};

/// kOutputs neighbouring outputs that read kInputs columns: each column is loaded once per kernel
/// row and used by all taps that meet it. Fold expressions keep everything in registers.
template <DepthwiseForm kForm, int kKernel, int kStride, typename Outputs, typename Inputs,
          typename Taps>
struct Block;
template <DepthwiseForm kForm, int kKernel, int kStride, size_t... kOut, size_t... kIn,
          size_t... kTap>
struct Block<kForm, kKernel, kStride, std::index_sequence<kOut...>, std::index_sequence<kIn...>,
             std::index_sequence<kTap...>> {
  static constexpr int kOutputs = sizeof...(kOut);
  static constexpr int kInputs = sizeof...(kIn);

  static HWY_INLINE void Tap(V* acc, const V* x, V w) {
    ((acc[kOut] = hn::MulAdd(x[kOut * kStride], w, acc[kOut])), ...);
  }
  static HWY_INLINE void Line(V* acc, const V* x, const float* w, int64_t w_stride) {
    (Tap(acc, x + kTap, hn::LoadU(D(), w + static_cast<int64_t>(kTap) * w_stride)), ...);
  }

  /// A 3x3 kernel wholly inside: with the number of lines known, all addresses stay in registers.
  static void RunThreeLines(const DepthwiseRow& row, int64_t first, Out<kForm>* out) {
    const Codec<kForm> codec(row);
    const int64_t step = row.in_pixel, out_step = row.out_pixel;
    const int64_t channels = row.channels, w_step = row.padded_channels;
    const auto line = [&](int64_t i) HWY_ATTR {
      return reinterpret_cast<const In<kForm>*>(row.lines[i]) + first * step;
    };
    const In<kForm>*x0 = line(0), *x1 = line(1), *x2 = line(2);
    const float *w0 = row.weights, *w1 = w0 + 3 * w_step, *w2 = w1 + 3 * w_step, *b = row.bias;
    for (int64_t c = 0; c < channels; c += kLanes) {
      const V bias = hn::LoadU(D(), b + c);
      V acc[kOutputs] = {((void)kOut, bias)...};
      const V y0[kInputs] = {codec.Load(x0 + static_cast<int64_t>(kIn) * step + c)...};
      Line(acc, y0, w0 + c, w_step);
      const V y1[kInputs] = {codec.Load(x1 + static_cast<int64_t>(kIn) * step + c)...};
      Line(acc, y1, w1 + c, w_step);
      const V y2[kInputs] = {codec.Load(x2 + static_cast<int64_t>(kIn) * step + c)...};
      Line(acc, y2, w2 + c, w_step);
      (codec.Store(acc[kOut], channels - c, out + static_cast<int64_t>(kOut) * out_step + c), ...);
    }
  }

  /// `pointers`: [line][kInputs] columns; null: column j of a line lies at line + (first + j) *
  /// in_pixel.
  static void Run(const DepthwiseRow& row, const In<kForm>* const* pointers, int64_t first,
                  Out<kForm>* out) {
    const Codec<kForm> codec(row);
    const int64_t step = row.in_pixel, out_step = row.out_pixel;
    for (int64_t c = 0; c < row.channels; c += kLanes) {
      const V bias = hn::LoadU(D(), row.bias + c);
      V acc[kOutputs] = {((void)kOut, bias)...};
      const float* w = row.weights + c;
      for (int64_t line = 0; line < row.num_lines; ++line) {
        if (pointers != nullptr) {
          const In<kForm>* const* at = pointers + line * kInputs;
          const V x[kInputs] = {codec.Load(at[kIn] + c)...};
          Line(acc, x, w, row.padded_channels);
        } else {
          const auto* at = reinterpret_cast<const In<kForm>*>(row.lines[line]) + first * step + c;
          const V x[kInputs] = {codec.Load(at + static_cast<int64_t>(kIn) * step)...};
          Line(acc, x, w, row.padded_channels);
        }
        w += kKernel * row.padded_channels;
      }
      (codec.Store(acc[kOut], row.channels - c, out + static_cast<int64_t>(kOut) * out_step + c),
       ...);
    }
  }
};

template <DepthwiseForm kForm, int kKernel, int kStride, int kOutputs>
void RunBlock(const DepthwiseRow& row, int64_t ow) {
  constexpr int kInputs = (kOutputs - 1) * kStride + kKernel;
  using B = Block<kForm, kKernel, kStride, std::make_index_sequence<kOutputs>,
                  std::make_index_sequence<kInputs>, std::make_index_sequence<kKernel>>;
  const int64_t first = ow * kStride - row.pad;
  auto* out = reinterpret_cast<Out<kForm>*>(row.out) + ow * row.out_pixel;
  if (first >= 0 && first + kInputs <= row.in_width) {
    if (kKernel == 3 && row.num_lines == 3) {
      B::RunThreeLines(row, first, out);
    } else {
      B::Run(row, nullptr, first, out);
    }
    return;
  }
  const In<kForm>* pointers[kMaxDepthwiseLines * kInputs];
  for (int64_t line = 0; line < row.num_lines; ++line) {
    const auto* pixels = reinterpret_cast<const In<kForm>*>(row.lines[line]);
    for (int64_t j = 0; j < kInputs; ++j) {
      const int64_t iw = first + j;
      pointers[line * kInputs + j] = iw >= 0 && iw < row.in_width
                                         ? pixels + iw * row.in_pixel
                                         : reinterpret_cast<const In<kForm>*>(row.zeros);
    }
  }
  B::Run(row, pointers, first, out);
}

template <DepthwiseForm kForm, int kKernel, int kStride>
void RunRowOf(const DepthwiseRow& row) {
  if (row.out_width < kWide) {
    for (int64_t ow = 0; ow < row.out_width; ++ow) RunBlock<kForm, kKernel, kStride, 1>(row, ow);
    return;
  }
  // The last block overlaps the one before: it writes the same values again.
  for (int64_t ow = 0; ow < row.out_width; ow += kWide) {
    const int64_t at = ow + kWide <= row.out_width ? ow : row.out_width - kWide;
    RunBlock<kForm, kKernel, kStride, kWide>(row, at);
  }
}

template <DepthwiseForm kForm>
void RunRowAs(const DepthwiseRow& row) {
  const int64_t key = row.kernel_width * 10 + row.stride;
  switch (key) {
    case 31: return RunRowOf<kForm, 3, 1>(row);
    case 32: return RunRowOf<kForm, 3, 2>(row);
    case 51: return RunRowOf<kForm, 5, 1>(row);
    case 52: return RunRowOf<kForm, 5, 2>(row);
    case 71: return RunRowOf<kForm, 7, 1>(row);
    case 72: return RunRowOf<kForm, 7, 2>(row);
    case 91: return RunRowOf<kForm, 9, 1>(row);
    default: return;
  }
}

void RunRow(const DepthwiseRow& row) {
  switch (row.form) {
    case DepthwiseForm::kFloats: return RunRowAs<DepthwiseForm::kFloats>(row);
    case DepthwiseForm::kFloatsFromBytes: return RunRowAs<DepthwiseForm::kFloatsFromBytes>(row);
    case DepthwiseForm::kBytes: return RunRowAs<DepthwiseForm::kBytes>(row);
  }
}

template <DepthwiseForm kForm>
void RunPixelAs(const DepthwisePixel& pixel) {
  const Codec<kForm> codec(pixel);
  const auto tap = [&](int64_t t, int64_t c) HWY_ATTR {
    return codec.Load(reinterpret_cast<const In<kForm>*>(pixel.taps[t]) + c);
  };
  for (int64_t c = 0; c < pixel.channels; c += kLanes) {
    V even = hn::LoadU(D(), pixel.bias + c), odd = hn::Zero(D());
    const float* w = pixel.weights + c;
    int64_t t = 0;
    for (; t + 2 <= pixel.num_taps; t += 2, w += 2 * pixel.padded_channels) {
      even = hn::MulAdd(tap(t, c), hn::LoadU(D(), w), even);
      odd = hn::MulAdd(tap(t + 1, c), hn::LoadU(D(), w + pixel.padded_channels), odd);
    }
    if (t < pixel.num_taps) even = hn::MulAdd(tap(t, c), hn::LoadU(D(), w), even);
    codec.Store(hn::Add(even, odd), pixel.channels - c,
                reinterpret_cast<Out<kForm>*>(pixel.out) + c);
  }
}

void RunPixel(const DepthwisePixel& pixel) {
  switch (pixel.form) {
    case DepthwiseForm::kFloats: return RunPixelAs<DepthwiseForm::kFloats>(pixel);
    case DepthwiseForm::kFloatsFromBytes: return RunPixelAs<DepthwiseForm::kFloatsFromBytes>(pixel);
    case DepthwiseForm::kBytes: return RunPixelAs<DepthwiseForm::kBytes>(pixel);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunRow);
HWY_EXPORT(RunPixel);

bool HasDepthwiseRow(int64_t kernel_width, int64_t stride) {
  const bool width = kernel_width == 3 || kernel_width == 5 || kernel_width == 7;
  return (width && (stride == 1 || stride == 2)) || (kernel_width == 9 && stride == 1);
}

void RunDepthwiseRow(const DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(RunRow)(row); }

void RunDepthwisePixel(const DepthwisePixel& pixel) { HWY_DYNAMIC_DISPATCH(RunPixel)(pixel); }

}  // namespace fettle::kernels
#endif
