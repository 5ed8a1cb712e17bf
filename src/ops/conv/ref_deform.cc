// Scalar oracle of deformable convolution (Zhu et al., "Deformable ConvNets v2", 2019).
#include <cmath>

#include "ops/conv/op.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Bilinear sample of plane (n, c) of `x`; zero outside.
double Sample(const HostView& x, int64_t n, int64_t c, double h, double w) {
  const double top = std::floor(h), left = std::floor(w);
  double sum = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const double row = top + corner / 2, column = left + corner % 2;
    if (!(row >= 0 && row < static_cast<double>(x.shape[2])) ||
        !(column >= 0 && column < static_cast<double>(x.shape[3]))) {
      continue;
    }
    const double weight = (1 - std::abs(h - row)) * (1 - std::abs(w - column));
    const int64_t at[] = {n, c, static_cast<int64_t>(row), static_cast<int64_t>(column)};
    sum += weight * x.GetDouble(x.Offset(at));
  }
  return sum;
}

}  // namespace

Status DeformConvReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &w = context.inputs[1], &offset = context.inputs[2];
  const HostView& y = context.outputs[0];
  ASSIGN_OR_RETURN(const DeformConvAttributes conv, ReadDeformConv(context.node, x.shape, w.shape));
  const int64_t ic = w.shape[1], taps = conv.kernel[0] * conv.kernel[1];
  const int64_t channels_per_offset = x.shape[1] / conv.offset_groups;
  for (int64_t i = region.begin; i < region.end; ++i) {
    int64_t out[4];
    Unravel(i, y.shape, out);
    const int64_t first_channel = out[1] / (w.shape[0] / conv.group) * ic;
    double sum = context.has_input(3)
                     ? context.inputs[3].GetDouble(out[1] * context.inputs[3].strides[0])
                     : 0.0;
    for (int64_t c = 0; c < ic; ++c) {
      const int64_t field = (first_channel + c) / channels_per_offset;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t kh = t / conv.kernel[1], kw = t % conv.kernel[1];
        int64_t at[] = {out[0], 2 * (field * taps + t), out[2], out[3]};
        const double dh = offset.GetDouble(offset.Offset(at));
        ++at[1];
        const double dw = offset.GetDouble(offset.Offset(at));
        at[1] = field * taps + t;
        const double mask =
            context.has_input(4) ? context.inputs[4].GetDouble(context.inputs[4].Offset(at)) : 1.0;
        const auto base = [&](size_t axis, int64_t k) {
          return static_cast<double>(out[axis + 2] * conv.strides[axis] - conv.pad_begin[axis] +
                                     k * conv.dilations[axis]);
        };
        const int64_t w_at[] = {out[1], c, kh, kw};
        sum += mask * w.GetDouble(w.Offset(w_at)) *
               Sample(x, out[0], first_channel + c, base(0, kh) + dh, base(1, kw) + dw);
      }
    }
    y.SetDouble(y.Offset(out), sum);
  }
  return OkStatus();
}

}  // namespace fettle::ops
