// Scalar oracles of the operators that reshape and repeat.
#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/reshape/op.h"

namespace fettle::ops {

/// The input's elements in row-major order under the output's shape.
Status MoveReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  if (x.IsDense()) {
    MoveElements(x, y, region, [](int64_t index, std::span<const int64_t>) { return index; });
    return OkStatus();
  }
  std::vector<int64_t> from(x.shape.rank());
  MoveElements(x, y, region, [&](int64_t index, std::span<const int64_t>) {
    Unravel(index, x.shape, from);
    return x.Offset(from);
  });
  return OkStatus();
}

Status ShapeReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  std::optional<int64_t> end;
  if (context.attributes().Has("end")) end = context.attributes().Int("end");
  const Shape& shape = context.inputs[0].shape;
  const AxisRange range = ResolveShapeRange(shape.rank(), context.attributes().Int("start"), end);
  for (int64_t i = region.begin; i < region.end; ++i)
    y.SetInt(i * y.strides[0], shape[range.begin + static_cast<int>(i)]);
  return OkStatus();
}

Status SizeReference(const RefContext& context, const Region& region) {
  if (region.begin < region.end) context.outputs[0].SetInt(0, context.inputs[0].shape.elements());
  return OkStatus();
}

Status ExpandReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  Dims strides(y.shape.rank());
  const size_t lead = strides.size() - x.strides.size();
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const size_t i = axis;
    strides[lead + i] = x.shape[axis] == 1 ? 0 : x.strides[i];
  }
  const HostView repeated{x.data, x.dtype, y.shape, strides};
  MoveElements(x, y, region, [&](int64_t, std::span<const int64_t> coordinate) {
    return repeated.Offset(coordinate);
  });
  return OkStatus();
}

Status TileReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  MoveElements(x, y, region, [&](int64_t, std::span<const int64_t> coordinate) {
    int64_t offset = 0;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
      const size_t i = axis;
      offset += coordinate[i] % x.shape[axis] * x.strides[i];
    }
    return offset;
  });
  return OkStatus();
}

}  // namespace fettle::ops
