// Scalar oracle of BlockMatMul.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/quantise/block_product.h"

namespace fettle::ops {
namespace {

/// A block of A as bytes: element = step * byte. The step and its inverse are floats, as kernels
/// have them, so that both round alike; a block that holds NaN or infinity has the step NaN.
struct RoundedBlock {
  double step = 0;
  int64_t bytes[kMaxProductBlock] = {};
  int64_t sum = 0;
};

RoundedBlock RoundBlock(const HostView& a, int64_t offset, int64_t stride, int64_t count) {
  RoundedBlock rounded;
  float most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(a.GetDouble(offset + i * stride));
    if (!std::isfinite(x)) {
      rounded.step = std::numeric_limits<double>::quiet_NaN();
      return rounded;
    }
    most = std::max(most, std::fabs(x));
  }
  // Smaller ones have no inverse.
  if (most < 0x1p-100F) return rounded;
  rounded.step = most * (1.0F / 127);
  const float inverse = 127.0F / most;
  for (int64_t i = 0; i < count; ++i) {
    const double scaled = a.GetDouble(offset + i * stride) * inverse;
    rounded.sum += rounded.bytes[i] = static_cast<int64_t>(std::nearbyint(scaled));
  }
  return rounded;
}

}  // namespace

Status BlockMatMulReference(const RefContext& context, const Region& region) {
  const HostView &a = context.inputs[0], &codes = context.inputs[1], &y = context.outputs[0];
  const Shape shapes[] = {a.shape, codes.shape, context.inputs[2].shape, context.inputs[3].shape};
  ASSIGN_OR_RETURN(const BlockProduct p, ReadBlockProduct(context.node, shapes));
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
    const int64_t n = c.back();
    int64_t row = 0;
    for (size_t i = 0; i + 1 < c.size(); ++i) row += c[i] * a.strides[i];
    double sum = 0;
    for (int64_t b = 0; b < p.blocks(); ++b) {
      const int64_t step = a.strides.back();
      const RoundedBlock rounded = RoundBlock(a, row + b * p.block * step, step, p.block);
      int64_t dot = 0;
      for (int64_t i = 0; i < p.block; ++i) {
        const int64_t at[] = {n, b * p.block + i};
        dot += rounded.bytes[i] * codes.GetInt(codes.Offset(at));
      }
      const int64_t at[] = {n, b};
      const auto f = [&](size_t input) {
        return context.inputs[input].GetDouble(context.inputs[input].Offset(at));
      };
      sum += rounded.step *
             (f(2) * static_cast<double>(dot) + f(3) * static_cast<double>(rounded.sum));
    }
    y.SetDouble(y.Offset(c), sum);
  });
  return OkStatus();
}

}  // namespace fettle::ops
