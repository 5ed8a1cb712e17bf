// Scalar oracles of Concat and Split.
#include "ops/concat/op.h"
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::ops {

Status ConcatReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const size_t axis = *NormaliseAxis(context.attributes().Int("axis", 1), y.shape.rank());
  std::vector<int64_t> from(y.shape.rank());
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> coordinate) {
      from.assign(coordinate.begin(), coordinate.end());
      size_t part = 0;
      for (; from[axis] >= context.inputs[part].shape[static_cast<int>(axis)]; ++part)
        from[axis] -= context.inputs[part].shape[static_cast<int>(axis)];
      const HostView& x = context.inputs[part];
      y.as<U>()[y.Offset(coordinate)] = x.as<U>()[x.Offset(from)];
    });
  });
  return OkStatus();
}

/// Writes all outputs: the region names elements of the first one only.
Status SplitReference(const RefContext& context, const Region&) {
  HostView window = context.inputs[0];
  const int axis = *NormaliseAxis(context.attributes().Int("axis"), window.shape.rank());
  const int64_t step = window.strides[axis];
  // Outputs that nobody uses have no view, so their extents come from the rule, not from the views.
  const std::vector<int64_t> given =
      context.has_input(1) ? IntsOf(context.inputs[1]) : std::vector<int64_t>();
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                   ReadSplitSizes(context.node, given, window.shape[axis]));
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    window.shape[axis] = sizes[i];
    if (context.has_output(i)) CopyView(window, context.outputs[i]);
    window.data += StorageBytes(window.dtype, sizes[i] * step);
  }
  return OkStatus();
}

}  // namespace fettle::ops
