#include "kernels/cpu/winograd/transform.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/winograd/transform.cc"
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

/// The one-dimensional maps of F(m, 3): input (B^T) and output (A^T).
template <int kOutputs>
struct Maps;

template <>
struct Maps<2> {
  static HWY_INLINE void Input(const V* x, V* y) {
    y[0] = hn::Sub(x[0], x[2]);
    y[1] = hn::Add(x[1], x[2]);
    y[2] = hn::Sub(x[2], x[1]);
    y[3] = hn::Sub(x[1], x[3]);
  }
  static HWY_INLINE void Output(const V* x, V* y) {
    y[0] = hn::Add(x[0], hn::Add(x[1], x[2]));
    y[1] = hn::Sub(hn::Sub(x[1], x[2]), x[3]);
  }
};

template <>
struct Maps<4> {
  static HWY_INLINE void Input(const V* x, V* y) {
    const V two = hn::Set(D(), 2.0f), four = hn::Set(D(), 4.0f), five = hn::Set(D(), 5.0f);
    y[0] = hn::MulAdd(four, x[0], hn::NegMulAdd(five, x[2], x[4]));
    const V even = hn::NegMulAdd(four, x[2], x[4]);  // x4 - 4 x2
    const V odd = hn::NegMulAdd(four, x[1], x[3]);   // x3 - 4 x1
    y[1] = hn::Add(even, odd);
    y[2] = hn::Sub(even, odd);
    const V difference = hn::Sub(x[4], x[2]);
    const V slope = hn::Mul(two, hn::Sub(x[3], x[1]));
    y[3] = hn::Add(difference, slope);
    y[4] = hn::Sub(difference, slope);
    y[5] = hn::MulAdd(four, x[1], hn::NegMulAdd(five, x[3], x[5]));
  }
  static HWY_INLINE void Output(const V* x, V* y) {
    const V sum12 = hn::Add(x[1], x[2]), difference12 = hn::Sub(x[1], x[2]);
    const V sum34 = hn::Add(x[3], x[4]), difference34 = hn::Sub(x[3], x[4]);
    y[0] = hn::Add(x[0], hn::Add(sum12, sum34));
    y[1] = hn::MulAdd(hn::Set(D(), 2.0f), difference34, difference12);
    y[2] = hn::MulAdd(hn::Set(D(), 4.0f), sum34, sum12);
    y[3] = hn::Add(x[5], hn::MulAdd(hn::Set(D(), 8.0f), difference34, difference12));
  }
};

/// The transforms of F(m x m, 3 x 3). Fold expressions over a side of the window and of the tile
/// keep vectors in registers.
template <int kM, typename In, typename Out>
struct Transforms;
template <int kM, size_t... kIn, size_t... kOut>
struct Transforms<kM, std::index_sequence<kIn...>, std::index_sequence<kOut...>> {
  static constexpr int kN = kM + 2;

  /// Values i of a side, `stride` elements apart.
  static HWY_INLINE void MapInput(const V* x, float* out, int64_t stride) {
    V y[kN];
    Maps<kM>::Input(x, y);
    (hn::StoreU(y[kIn], D(), out + static_cast<int64_t>(kIn) * stride), ...);
  }

  static void Input(const WinogradInput& args) {
    HWY_ALIGN float columns[kN * kN * kLanes];
    for (int64_t c = 0; c < args.channels; c += kLanes) {
      for (int j = 0; j < kN; ++j) {
        const V x[kN] = {hn::LoadU(D(), args.pixels[kIn * kN + static_cast<size_t>(j)] + c)...};
        MapInput(x, columns + j * kLanes, kN * kLanes);
      }
      for (int i = 0; i < kN; ++i) {
        const float* row = columns + i * kN * kLanes;
        const V x[kN] = {hn::Load(D(), row + static_cast<int64_t>(kIn) * kLanes)...};
        MapInput(x, args.out + i * kN * args.point_stride + c, args.point_stride);
      }
    }
  }

  static HWY_INLINE void StoreRow(const WinogradOutput& args, const V* y, V bias, int64_t c,
                                  float* out) {
    const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
    const int64_t left = args.channels - c;
    for (int64_t j = 0; j < args.columns; ++j) {
      // This order of operands lets NaN through.
      const V x = hn::Min(high, hn::Max(low, hn::Add(y[j], bias)));
      float* at = out + j * args.pixel_stride;
      if (left >= kLanes) {
        hn::StoreU(x, D(), at);
      } else {
        StoreFirst(D(), x, left, at);
      }
    }
  }

  static void Output(const WinogradOutput& args) {
    HWY_ALIGN float columns[kM * kN * kLanes];
    for (int64_t c = 0; c < args.channels; c += kLanes) {
      for (int j = 0; j < kN; ++j) {
        const float* in = args.in + j * args.point_stride + c;
        const V x[kN] = {
            hn::LoadU(D(), in + static_cast<int64_t>(kIn) * kN * args.point_stride)...};
        V y[kM];
        Maps<kM>::Output(x, y);
        (hn::Store(y[kOut], D(), columns + (static_cast<int64_t>(kOut) * kN + j) * kLanes), ...);
      }
      const V bias = hn::LoadU(D(), args.bias + c);
      for (int64_t i = 0; i < args.rows; ++i) {
        const float* row = columns + i * kN * kLanes;
        const V x[kN] = {hn::Load(D(), row + static_cast<int64_t>(kIn) * kLanes)...};
        V y[kM];
        Maps<kM>::Output(x, y);
        StoreRow(args, y, bias, c, args.out + i * args.row_stride + c);
      }
    }
  }
};

template <int kM>
using TransformsOf = Transforms<kM, std::make_index_sequence<kM + 2>, std::make_index_sequence<kM>>;

template <int kM>
void Input(const WinogradInput& args) {
  TransformsOf<kM>::Input(args);
}
template <int kM>
void Output(const WinogradOutput& args) {
  TransformsOf<kM>::Output(args);
}

/// The form without its filters, which need no vectors.
WinogradForm FormOf(int outputs) {
  if (outputs == 2) return {2, Input<2>, Output<2>};
  return {4, Input<4>, Output<4>};
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {
namespace {

/// Three values of a filter through G of F(m, 3); `out` are m + 2 values, `stride` apart.
template <int kM>
void MapFilter(float g0, float g1, float g2, float* out, int64_t stride) {
  if constexpr (kM == 2) {
    out[0] = g0;
    out[stride] = (g0 + g2 + g1) * 0.5f;
    out[2 * stride] = (g0 + g2 - g1) * 0.5f;
    out[3 * stride] = g2;
  } else {
    const float outer = (g0 + g2) * (-1.0f / 6), inner = g0 * (1.0f / 24) + g2 * (1.0f / 6);
    out[0] = g0 * 0.25f;
    out[stride] = outer - g1 * (1.0f / 6);
    out[2 * stride] = outer + g1 * (1.0f / 6);
    out[3 * stride] = inner + g1 * (1.0f / 12);
    out[4 * stride] = inner - g1 * (1.0f / 12);
    out[5 * stride] = g2;
  }
}

/// Down the columns first, [m + 2][3][count], then along the rows.
template <int kM>
void TransformFilters(const float* taps, int64_t count, float* out, int64_t out_stride) {
  constexpr int64_t kN = kM + 2;
  std::vector<float> half(kN * 3 * count);
  for (int64_t j = 0; j < 3 * count; ++j)
    MapFilter<kM>(taps[j], taps[3 * count + j], taps[6 * count + j], half.data() + j, 3 * count);
  for (int64_t i = 0; i < kN; ++i) {
    const float* row = half.data() + i * 3 * count;
    for (int64_t f = 0; f < count; ++f)
      MapFilter<kM>(row[f], row[count + f], row[2 * count + f], out + i * kN * out_stride + f,
                    out_stride);
  }
}

}  // namespace

HWY_EXPORT(FormOf);

WinogradForm GetWinogradForm(int outputs) {
  ApplyIsaCap();
  FETTLE_CHECK(outputs == 2 || outputs == 4, "no such form of Winograd's filtering");
  WinogradForm form = HWY_DYNAMIC_DISPATCH(FormOf)(outputs);
  form.filters = outputs == 2 ? TransformFilters<2> : TransformFilters<4>;
  return form;
}

}  // namespace fettle::kernels
#endif
