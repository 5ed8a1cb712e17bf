// Scalar oracles of the operators that generate their elements.
#include "ops/element_access.h"
#include "ops/generate/op.h"
#include "ops/op.h"

namespace fettle::ops {

Status ConstantOfShapeReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const Constant value = ReadFillValue(context.node);
  DispatchElementSize(y.dtype, [&]<typename U>() {
    U element;
    value.CopyTo(0, 1, reinterpret_cast<std::byte*>(&element));
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> coordinate) {
      y.as<U>()[y.Offset(coordinate)] = element;
    });
  });
  return OkStatus();
}

Status RangeReference(const RefContext& context, const Region& region) {
  const HostView &start = context.inputs[0], &delta = context.inputs[2], &y = context.outputs[0];
  for (int64_t i = region.begin; i < region.end; ++i) {
    if (IsInteger(y.dtype)) {
      y.SetInt(i * y.strides[0], start.GetInt(0) + i * delta.GetInt(0));
    } else {
      y.SetDouble(i * y.strides[0],
                  start.GetDouble(0) + static_cast<double>(i) * delta.GetDouble(0));
    }
  }
  return OkStatus();
}

Status EyeLikeReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const int64_t k = context.attributes().Int("k");
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
    y.SetInt(y.Offset(c), c[1] - c[0] == k ? 1 : 0);
  });
  return OkStatus();
}

Status OneHotReference(const RefContext& context, const Region& region) {
  const HostView &indices = context.inputs[0], &values = context.inputs[2], &y = context.outputs[0];
  const size_t axis = *NormaliseAxis(context.attributes().Int("axis", -1), y.shape.rank());
  const auto depth = static_cast<double>(y.shape[static_cast<int>(axis)]);
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
      int64_t at = 0;
      for (size_t i = 0; i < indices.strides.size(); ++i)
        at += c[i < axis ? i : i + 1] * indices.strides[i];
      double index = indices.GetDouble(at);
      if (index < 0) index += depth;
      const bool hot = index == static_cast<double>(c[axis]);
      y.as<U>()[y.Offset(c)] = values.as<U>()[hot ? values.strides[0] : 0];
    });
  });
  return OkStatus();
}

Status TriluReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const int64_t k = context.has_input(1) ? context.inputs[1].GetInt(0) : 0;
  const bool upper = context.attributes().Int("upper", 1) != 0;
  const size_t rank = y.shape.rank();
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
      const int64_t diagonal = c[rank - 1] - c[rank - 2];
      const bool kept = upper ? diagonal >= k : diagonal <= k;
      y.as<U>()[y.Offset(c)] = kept ? x.as<U>()[x.Offset(c)] : U{0};
    });
  });
  return OkStatus();
}

}  // namespace fettle::ops
