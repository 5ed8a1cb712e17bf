// Scalar oracle of convolution: direct sums in double, any number of spatial axes. A run of outputs
// along the last axis shares the walk over taps and channels; each element still adds its products
// in the order (tap, channel), whatever the region.
#include <algorithm>

#include "ops/conv/op.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

struct ConvOperands {
  ConvAttributes conv;
  HostView x, w, y;
  double x_zero = 0;
  std::vector<double> w_zeros;  // one per output channel; empty: 0

  double w_zero(int64_t oc) const {
    return w_zeros.empty() ? 0.0 : w_zeros[w_zeros.size() == 1 ? 0 : oc];
  }
};

/// sums[i] += (row[i * step] - zero) * weight.
template <typename X>
void AddScaledRow(const X* row, int64_t step, double zero, double weight, std::span<double> sums) {
  if (step == 1 && zero == 0) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(Widen(row[i])) * weight;
    return;
  }
  for (size_t i = 0; i < sums.size(); ++i, row += step)
    sums[i] += (static_cast<double>(Widen(*row)) - zero) * weight;
}

/// Adds one tap of one row, for the outputs of the row whose tap lies inside.
template <typename X, typename W>
void AddTap(const ConvOperands& op, int64_t x_offset, int64_t w_offset, int64_t x_step,
            double w_zero, std::span<double> sums) {
  if (sums.empty() || op.w.shape[1] == 0) return;
  const X* x = op.x.as<X>() + x_offset;
  const W* w = op.w.as<W>() + w_offset;
  for (int64_t c = 0; c < op.w.shape[1]; ++c) {
    const double weight = static_cast<double>(Widen(w[c * op.w.strides[1]])) - w_zero;
    AddScaledRow(x + c * op.x.strides[1], x_step, op.x_zero, weight, sums);
  }
}

/// Outputs [begin, end) of the last axis whose tap at input position o * stride + shift is inside.
TapRange InsideOutputs(int64_t begin, int64_t end, int64_t stride, int64_t shift, int64_t extent) {
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t last = extent - shift <= 0 ? 0 : (extent - shift + stride - 1) / stride;
  const int64_t low = std::max(begin, first);
  return {low, std::max(low, std::min(end, last))};
}

/// The sums of outputs out.back() .. + sums.size() of one row.
template <typename X, typename W>
void ConvRow(const ConvOperands& op, std::span<const int64_t> out, std::span<double> sums) {
  const ConvAttributes& conv = op.conv;
  const size_t last = conv.spatial_rank() - 1;
  const int64_t first_channel = out[1] / (op.w.shape[0] / conv.group) * op.w.shape[1];
  const int64_t x_base = out[0] * op.x.strides[0] + first_channel * op.x.strides[1];
  const double w_zero = op.w_zero(out[1]);
  const Shape kernel(conv.kernel);
  std::vector<int64_t> tap(conv.kernel.size());
  for (int64_t t = 0; t < kernel.elements(); ++t) {
    Unravel(t, kernel, tap);
    int64_t x_offset = x_base, w_offset = out[1] * op.w.strides[0];
    bool inside = true;
    for (size_t i = 0; i < tap.size(); ++i) {
      w_offset += tap[i] * op.w.strides[i + 2];
      if (i == last) break;
      const int64_t position =
          out[i + 2] * conv.strides[i] - conv.pad_begin[i] + tap[i] * conv.dilations[i];
      inside = inside && position >= 0 && position < op.x.shape[static_cast<int>(i) + 2];
      x_offset += position * op.x.strides[i + 2];
    }
    if (!inside) continue;
    const int64_t shift = tap[last] * conv.dilations[last] - conv.pad_begin[last];
    const int64_t begin = out.back(), stride = conv.strides[last];
    const TapRange run = InsideOutputs(begin, begin + static_cast<int64_t>(sums.size()), stride,
                                       shift, op.x.shape[static_cast<int>(last) + 2]);
    const int64_t step = op.x.strides[last + 2];
    AddTap<X, W>(op, x_offset + (run.begin * stride + shift) * step, w_offset, stride * step,
                 w_zero, sums.subspan(run.begin - begin, run.end - run.begin));
  }
}

/// Cuts the region into rows and hands each to `row(coordinate, sums)`, sums preset to `bias`.
template <typename Row>
void ForEachRow(const ConvOperands& op, const HostView* bias, const Region& region, Row row) {
  const HostView& y = op.y;
  const size_t rank = y.shape.rank();
  std::vector<int64_t> out(rank);
  std::vector<double> sums;
  for (int64_t i = region.begin; i < region.end;) {
    Unravel(i, y.shape, out);
    const int64_t count =
        std::min(region.end - i, y.shape[static_cast<int>(rank) - 1] - out[rank - 1]);
    sums.assign(count, 0.0);
    row(out, std::span<double>(sums));
    const double b = bias == nullptr ? 0.0 : bias->GetDouble(out[1] * bias->strides[0]);
    for (double sum : sums) {
      // What i32 does not hold wraps around.
      y.dtype == DType::kI32 ? y.SetInt(y.Offset(out), static_cast<int64_t>(sum))
                             : y.SetDouble(y.Offset(out), sum + b);
      ++out[rank - 1];
    }
    i += count;
  }
}

}  // namespace

Status ConvReference(const RefContext& context, const Region& region) {
  ConvOperands op = {{}, context.inputs[0], context.inputs[1], context.outputs[0]};
  ASSIGN_OR_RETURN(op.conv, ReadConv(context.node, op.x.shape, op.w.shape));
  const HostView* bias = context.has_input(2) ? &context.inputs[2] : nullptr;
  DispatchDType(op.x.dtype, [&]<typename T>() {
    if constexpr (kIsFloating<T>)
      ForEachRow(op, bias, region, [&](auto out, auto sums) { ConvRow<T, T>(op, out, sums); });
  });
  return OkStatus();
}

Status ConvIntegerReference(const RefContext& context, const Region& region) {
  ConvOperands op = {{}, context.inputs[0], context.inputs[1], context.outputs[0]};
  ASSIGN_OR_RETURN(op.conv, ReadConv(context.node, op.x.shape, op.w.shape));
  if (context.has_input(2)) op.x_zero = context.inputs[2].GetDouble(0);
  if (context.has_input(3)) {
    const HostView& zeros = context.inputs[3];
    const int64_t stride = zeros.shape.rank() == 0 ? 0 : zeros.strides[0];
    for (int64_t i = 0; i < zeros.shape.elements(); ++i)
      op.w_zeros.push_back(zeros.GetDouble(i * stride));
  }
  // Sums of 16-bit products are exact in double below 2^53, far above any int32 result.
  ForEachRow(op, nullptr, region, [&](auto out, auto sums) {
    const bool signed_x = op.x.dtype == DType::kI8, signed_w = op.w.dtype == DType::kI8;
    if (signed_x && signed_w) ConvRow<int8_t, int8_t>(op, out, sums);
    if (signed_x && !signed_w) ConvRow<int8_t, uint8_t>(op, out, sums);
    if (!signed_x && signed_w) ConvRow<uint8_t, int8_t>(op, out, sums);
    if (!signed_x && !signed_w) ConvRow<uint8_t, uint8_t>(op, out, sums);
  });
  return OkStatus();
}

}  // namespace fettle::ops
