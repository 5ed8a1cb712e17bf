#include "kernels/cpu/winograd/transform.h"

#include <vector>

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

/// Six values through B^T, in place.
HWY_INLINE void MapInput(V& x0, V& x1, V& x2, V& x3, V& x4, V& x5) {
  const V two = hn::Set(D(), 2.0f), four = hn::Set(D(), 4.0f), five = hn::Set(D(), 5.0f);
  const V y0 = hn::MulAdd(four, x0, hn::NegMulAdd(five, x2, x4));
  const V even = hn::NegMulAdd(four, x2, x4);  // x4 - 4 x2
  const V odd = hn::NegMulAdd(four, x1, x3);   // x3 - 4 x1
  const V y1 = hn::Add(even, odd);
  const V y2 = hn::Sub(even, odd);
  const V difference = hn::Sub(x4, x2);
  const V slope = hn::Mul(two, hn::Sub(x3, x1));
  const V y3 = hn::Add(difference, slope);
  const V y4 = hn::Sub(difference, slope);
  const V y5 = hn::MulAdd(four, x1, hn::NegMulAdd(five, x3, x5));
  x0 = y0, x1 = y1, x2 = y2, x3 = y3, x4 = y4, x5 = y5;
}

void TransformInput(const WinogradInput& args) {
  constexpr int kN = kWinogradInputs;
  HWY_ALIGN float columns[kWinogradPoints * kLanes];
  for (int64_t c = 0; c < args.channels; c += kLanes) {
    for (int j = 0; j < kN; ++j) {
      const float* const* pixel = args.pixels + j;
      V x0 = hn::LoadU(D(), pixel[0] + c), x1 = hn::LoadU(D(), pixel[kN] + c);
      V x2 = hn::LoadU(D(), pixel[2 * kN] + c), x3 = hn::LoadU(D(), pixel[3 * kN] + c);
      V x4 = hn::LoadU(D(), pixel[4 * kN] + c), x5 = hn::LoadU(D(), pixel[5 * kN] + c);
      MapInput(x0, x1, x2, x3, x4, x5);
      float* out = columns + j * kLanes;
      const V results[kN] = {x0, x1, x2, x3, x4, x5};
      for (int i = 0; i < kN; ++i) hn::Store(results[i], D(), out + i * kN * kLanes);
    }
    for (int i = 0; i < kN; ++i) {
      const float* row = columns + i * kN * kLanes;
      V x0 = hn::Load(D(), row), x1 = hn::Load(D(), row + kLanes);
      V x2 = hn::Load(D(), row + 2 * kLanes), x3 = hn::Load(D(), row + 3 * kLanes);
      V x4 = hn::Load(D(), row + 4 * kLanes), x5 = hn::Load(D(), row + 5 * kLanes);
      MapInput(x0, x1, x2, x3, x4, x5);
      float* out = args.out + i * kN * args.point_stride + c;
      const V results[kN] = {x0, x1, x2, x3, x4, x5};
      for (int j = 0; j < kN; ++j) hn::StoreU(results[j], D(), out + j * args.point_stride);
    }
  }
}

/// Six values through A^T to four.
HWY_INLINE void MapOutput(V x0, V x1, V x2, V x3, V x4, V x5, V* y) {
  const V sum12 = hn::Add(x1, x2), difference12 = hn::Sub(x1, x2);
  const V sum34 = hn::Add(x3, x4), difference34 = hn::Sub(x3, x4);
  y[0] = hn::Add(x0, hn::Add(sum12, sum34));
  y[1] = hn::MulAdd(hn::Set(D(), 2.0f), difference34, difference12);
  y[2] = hn::MulAdd(hn::Set(D(), 4.0f), sum34, sum12);
  y[3] = hn::Add(x5, hn::MulAdd(hn::Set(D(), 8.0f), difference34, difference12));
}

HWY_INLINE void StoreRow(const WinogradOutput& args, const V* y, V bias, int64_t c, float* out) {
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

void TransformOutput(const WinogradOutput& args) {
  constexpr int kN = kWinogradInputs, kM = kWinogradOutputs;
  HWY_ALIGN float columns[kM * kN * kLanes];
  const int64_t step = args.point_stride;
  for (int64_t c = 0; c < args.channels; c += kLanes) {
    for (int j = 0; j < kN; ++j) {
      const float* in = args.in + j * step + c;
      const int64_t row = kN * step;
      V y[kM];
      MapOutput(hn::LoadU(D(), in), hn::LoadU(D(), in + row), hn::LoadU(D(), in + 2 * row),
                hn::LoadU(D(), in + 3 * row), hn::LoadU(D(), in + 4 * row),
                hn::LoadU(D(), in + 5 * row), y);
      for (int i = 0; i < kM; ++i) hn::Store(y[i], D(), columns + (i * kN + j) * kLanes);
    }
    const V bias = hn::LoadU(D(), args.bias + c);
    for (int64_t i = 0; i < args.rows; ++i) {
      const float* row = columns + i * kN * kLanes;
      V y[kM];
      MapOutput(hn::Load(D(), row), hn::Load(D(), row + kLanes), hn::Load(D(), row + 2 * kLanes),
                hn::Load(D(), row + 3 * kLanes), hn::Load(D(), row + 4 * kLanes),
                hn::Load(D(), row + 5 * kLanes), y);
      StoreRow(args, y, bias, c, args.out + i * args.row_stride + c);
    }
  }
}

const WinogradTransforms* Transforms() {
  static const WinogradTransforms transforms = {TransformInput, TransformOutput};
  return &transforms;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {
namespace {

/// Three values, `stride` apart, through G to six, `out_stride` apart; `count` of them side by
/// side.
void MapFilter(const float* g, int64_t stride, int64_t count, float* out, int64_t out_stride) {
  for (int64_t i = 0; i < count; ++i) {
    const float g0 = g[i], g1 = g[stride + i], g2 = g[2 * stride + i];
    const float outer = (g0 + g2) * (-1.0f / 6), inner = g0 * (1.0f / 24) + g2 * (1.0f / 6);
    out[i] = g0 * 0.25f;
    out[out_stride + i] = outer - g1 * (1.0f / 6);
    out[2 * out_stride + i] = outer + g1 * (1.0f / 6);
    out[3 * out_stride + i] = inner + g1 * (1.0f / 12);
    out[4 * out_stride + i] = inner - g1 * (1.0f / 12);
    out[5 * out_stride + i] = g2;
  }
}

}  // namespace

HWY_EXPORT(Transforms);

const WinogradTransforms& GetWinogradTransforms() {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(Transforms)();
}

void TransformWinogradFilters(const float* taps, int64_t count, float* out, int64_t out_stride) {
  // Down the columns first: [6][3][count], then along the rows.
  std::vector<float> half(static_cast<size_t>(kWinogradInputs * 3 * count));
  for (int64_t j = 0; j < 3; ++j) {
    MapFilter(taps + j * count, 3 * count, count, half.data() + j * count, 3 * count);
  }
  for (int64_t i = 0; i < kWinogradInputs; ++i) {
    MapFilter(half.data() + i * 3 * count, count, count, out + i * kWinogradInputs * out_stride,
              out_stride);
  }
}

}  // namespace fettle::kernels
#endif
