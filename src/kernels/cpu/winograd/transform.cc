#include "kernels/cpu/winograd/transform.h"

#include <utility>

#include "base/check.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/winograd/transform.cc"
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

/// The one-dimensional maps of F(m, 3): input (B^T), filter (G) and output (A^T).
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
  static HWY_INLINE void Filter(const V* g, V* y) {
    const V half = hn::Set(D(), 0.5f), outer = hn::Add(g[0], g[2]);
    y[0] = g[0];
    y[1] = hn::Mul(half, hn::Add(outer, g[1]));
    y[2] = hn::Mul(half, hn::Sub(outer, g[1]));
    y[3] = g[2];
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
  static HWY_INLINE void Filter(const V* g, V* y) {
    const V sixth = hn::Set(D(), 1.0f / 6), twelfth = hn::Set(D(), 1.0f / 12);
    const V outer = hn::Mul(hn::Set(D(), -1.0f / 6), hn::Add(g[0], g[2]));
    const V inner = hn::MulAdd(hn::Set(D(), 1.0f / 24), g[0], hn::Mul(sixth, g[2]));
    y[0] = hn::Mul(hn::Set(D(), 0.25f), g[0]);
    y[1] = hn::NegMulAdd(sixth, g[1], outer);
    y[2] = hn::MulAdd(sixth, g[1], outer);
    y[3] = hn::MulAdd(twelfth, g[1], inner);
    y[4] = hn::NegMulAdd(twelfth, g[1], inner);
    y[5] = g[2];
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

  /// One vector of filters of one channel. Down the columns first, then along the rows.
  static HWY_INLINE void MapFilter(const float* taps, int64_t columns, float* out,
                                   int64_t point_stride) {
    V half[3][kN];
    for (int j = 0; j < 3; ++j) {
      const V g[3] = {hn::LoadU(D(), taps + j * columns), hn::LoadU(D(), taps + (3 + j) * columns),
                      hn::LoadU(D(), taps + (6 + j) * columns)};
      Maps<kM>::Filter(g, half[j]);
    }
    for (int i = 0; i < kN; ++i) {
      const V g[3] = {half[0][i], half[1][i], half[2][i]};
      V y[kN];
      Maps<kM>::Filter(g, y);
      float* row = out + i * kN * point_stride;
      (hn::StoreU(y[kIn], D(), row + static_cast<int64_t>(kIn) * point_stride), ...);
    }
  }

  static void Filters(const WinogradFilters& args) {
    for (int64_t c = 0; c < args.channels; ++c) {
      const float* taps = args.taps + c * 9 * args.columns;
      float* out = args.out + c * args.columns;
      for (int64_t n = 0; n < args.columns; n += kLanes)
        MapFilter(taps + n, args.columns, out + n, args.point_stride);
    }
  }

  static HWY_INLINE void StoreRow(const WinogradOutput& args, const V* y, V bias, int64_t c,
                                  float* out) {
    const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
    const int64_t left = args.channels - c;
    for (int64_t j = 0; j < args.columns; ++j) {
      const V x = ClampOrNan(hn::Add(y[j], bias), low, high);
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
constexpr WinogradForm kForm = {kM, TransformsOf<kM>::Input, TransformsOf<kM>::Output,
                                TransformsOf<kM>::Filters};

WinogradForm FormOf(int outputs) { return outputs == 2 ? kForm<2> : kForm<4>; }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(FormOf);

WinogradForm GetWinogradForm(int outputs) {
  ApplyIsaCap();
  FETTLE_CHECK(outputs == 2 || outputs == 4, "no such form of Winograd's filtering");
  return HWY_DYNAMIC_DISPATCH(FormOf)(outputs);
}

}  // namespace fettle::kernels
#endif
