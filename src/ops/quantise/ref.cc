// Scalar oracles of quantisation. Quotients are taken in fp32, as ONNX defines them: in double, a
// value that fp32 rounds to a half would fall to the other side and end a whole step away.
#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "ops/quantise/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

/// NaN, of which ONNX says nothing, gives the least value, as it does in ONNX Runtime on x86.
int64_t RoundClamped(float value, int64_t zero, const QuantRange& range) {
  if (std::isnan(value)) return range.low;
  // Far out of range already, and small enough for the conversion to be defined.
  const float bounded = std::clamp(std::nearbyint(value), -1e9f, 1e9f);
  return std::clamp(static_cast<int64_t>(bounded) + zero, range.low, range.high);
}

}  // namespace

Status QuantizeReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &scale = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const QuantAxis quant, ReadQuantAxis(context.node, x.shape, scale.shape));
  const QuantRange range = RangeOf(y.dtype);
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const auto divisor =
        static_cast<float>(scale.GetDouble(quant.ScaleOffset(walk.coordinate(), scale.strides)));
    const float quotient = static_cast<float>(x.GetDouble(walk[0])) / divisor;
    if (IsFloat(y.dtype)) {
      y.SetDouble(walk[1], quotient);
      continue;
    }
    int64_t zero = 0;
    if (context.has_input(2)) {
      const HostView& points = context.inputs[2];
      zero = points.GetInt(quant.ScaleOffset(walk.coordinate(), points.strides));
    }
    y.SetInt(walk[1], RoundClamped(quotient, zero, range));
  }
  return OkStatus();
}

Status DequantizeReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &scale = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const QuantAxis quant, ReadQuantAxis(context.node, x.shape, scale.shape));
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    double value = x.GetDouble(walk[0]);
    if (context.has_input(2)) {
      const HostView& points = context.inputs[2];
      value -= points.GetDouble(quant.ScaleOffset(walk.coordinate(), points.strides));
    }
    y.SetDouble(walk[1],
                value * scale.GetDouble(quant.ScaleOffset(walk.coordinate(), scale.strides)));
  }
  return OkStatus();
}

Status TableLookupReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &table = context.inputs[1], &y = context.outputs[0];
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next())
    y.SetInt(walk[1], table.GetInt((x.GetInt(walk[0]) & 255) * table.strides[0]));
  return OkStatus();
}

Status DynamicQuantizeReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const int64_t count = x.shape.elements();
  const std::vector<int64_t> offsets = RowOffsets(x, AxisMask(x.shape.rank(), true));
  // The range holds zero, so that padding is exact, and no NaN.
  float low = 0, high = 0;
  for (int64_t offset : offsets) {
    low = std::min(low, static_cast<float>(x.GetDouble(offset)));
    high = std::max(high, static_cast<float>(x.GetDouble(offset)));
  }
  // A tensor of zeros has no range; any scale represents it.
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float steps = -low / scale;
  // Infinite ranges have no quotient; 255 is ONNX Runtime's answer.
  const int64_t zero = std::isnan(steps) ? 255 : RoundClamped(steps, 0, {0, 255});
  Walker walk(y.shape, {x.strides, y.strides}, 0);
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    const float quotient = static_cast<float>(x.GetDouble(walk[0])) / scale;
    y.SetInt(walk[1], RoundClamped(quotient, zero, {0, 255}));
  }
  if (context.has_output(1)) context.outputs[1].SetDouble(0, scale);
  if (context.has_output(2)) context.outputs[2].SetInt(0, zero);
  return OkStatus();
}

}  // namespace fettle::ops
