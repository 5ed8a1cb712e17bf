// Scalar oracle of transposed convolution, in double. A run of outputs along the last axis shares
// the walk over taps and channels; each element adds its products in the order (tap, channel),
// whatever the region.
#include <algorithm>

#include "ops/conv_transpose/op.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

struct TransposeOperands {
  ConvTransposeAttributes conv;
  HostView x, w, y;
};

/// Where a tap meets one row of outputs: the offsets of the row of inputs and of the weight, both
/// at the first channel of the group.
struct TapRow {
  int64_t x_offset, w_offset;
  bool reached;  // false where no input row reaches the row of outputs through this tap
};

TapRow FindRow(const TransposeOperands& op, std::span<const int64_t> out,
               std::span<const int64_t> tap) {
  const ConvTransposeAttributes& conv = op.conv;
  const int64_t first_channel = out[1] / op.w.shape[1] * (op.x.shape[1] / conv.group);
  TapRow row = {out[0] * op.x.strides[0] + first_channel * op.x.strides[1],
                first_channel * op.w.strides[0] + out[1] % op.w.shape[1] * op.w.strides[1], true};
  for (size_t i = 0; i < tap.size(); ++i) {
    row.w_offset += tap[i] * op.w.strides[i + 2];
    if (i + 1 == tap.size()) break;
    const int64_t position = out[i + 2] + conv.pad_begin[i] - tap[i] * conv.dilations[i];
    const int64_t from = position / conv.strides[i];
    row.reached = row.reached && position >= 0 && position % conv.strides[i] == 0 &&
                  from < op.x.shape[static_cast<int>(i) + 2];
    row.x_offset += from * op.x.strides[i + 2];
  }
  return row;
}

/// sums[i * stride + shift] += x[i] * w over the channels of a group, for the inputs i of one row
/// that fall inside of `sums`.
template <typename T>
void AddTap(const TransposeOperands& op, const TapRow& row, int64_t shift, std::span<double> sums) {
  const int64_t stride = op.conv.strides.back(), step = op.x.strides.back();
  const int64_t count = std::ssize(sums);
  const int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t room = count - shift;
  const int64_t end =
      std::min(op.x.shape[op.x.shape.rank() - 1], room <= 0 ? 0 : (room + stride - 1) / stride);
  const T *x = op.x.as<T>() + row.x_offset, *w = op.w.as<T>() + row.w_offset;
  for (int64_t c = 0; c < op.x.shape[1] / op.conv.group; ++c) {
    const auto weight = static_cast<double>(Widen(w[c * op.w.strides[0]]));
    const T* from = x + c * op.x.strides[1];
    for (int64_t i = begin; i < end; ++i) {
      sums[i * stride + shift] += static_cast<double>(Widen(from[i * step])) * weight;
    }
  }
}

/// The sums of outputs out.back() .. + sums.size() of one row.
template <typename T>
void SumRow(const TransposeOperands& op, std::span<const int64_t> out, std::span<double> sums) {
  if (op.x.shape[1] == 0 || sums.empty()) return;
  const ConvTransposeAttributes& conv = op.conv;
  const Shape kernel(conv.kernel);
  std::vector<int64_t> tap(conv.kernel.size());
  for (int64_t t = 0; t < kernel.elements(); ++t) {
    Unravel(t, kernel, tap);
    const TapRow row = FindRow(op, out, tap);
    if (!row.reached) continue;
    const int64_t shift = tap.back() * conv.dilations.back() - conv.pad_begin.back() - out.back();
    AddTap<T>(op, row, shift, sums);
  }
}

template <typename T>
void SumRegion(const TransposeOperands& op, const HostView* bias, const Region& region) {
  const HostView& y = op.y;
  std::vector<int64_t> out(y.shape.rank());
  std::vector<double> sums;
  for (int64_t i = region.begin; i < region.end;) {
    Unravel(i, y.shape, out);
    const int64_t count = std::min(region.end - i, y.shape[y.shape.rank() - 1] - out.back());
    sums.assign(count, 0.0);
    SumRow<T>(op, out, sums);
    const double b = bias == nullptr ? 0.0 : bias->GetDouble(out[1] * bias->strides[0]);
    for (double sum : sums) {
      y.SetDouble(y.Offset(out), sum + b);
      ++out.back();
    }
    i += count;
  }
}

}  // namespace

Status ConvTransposeReference(const RefContext& context, const Region& region) {
  TransposeOperands op = {{}, context.inputs[0], context.inputs[1], context.outputs[0]};
  ASSIGN_OR_RETURN(op.conv, ReadConvTranspose(context.node, op.x.shape, op.w.shape));
  const HostView* bias = context.has_input(2) ? &context.inputs[2] : nullptr;
  DispatchDType(op.x.dtype, [&]<typename T>() {
    if constexpr (kIsFloating<T>) SumRegion<T>(op, bias, region);
  });
  return OkStatus();
}

}  // namespace fettle::ops
