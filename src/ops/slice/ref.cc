// Scalar oracle of Slice.
#include "ops/element_access.h"
#include "ops/slice/op.h"

namespace fettle::ops {

Status SliceReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const auto ints = [&](size_t i) {
    return context.has_input(i) ? IntsOf(context.inputs[i]) : std::vector<int64_t>();
  };
  ASSIGN_OR_RETURN(const SliceWindow window,
                   ResolveSlice(x.shape, ints(1), ints(2), ints(3), ints(4)));
  HostView strided = x;
  const int64_t first = x.Offset(window.start);
  for (size_t i = 0; i < strided.strides.size(); ++i) strided.strides[i] *= window.step[i];
  MoveElements(x, y, region, [&](int64_t, std::span<const int64_t> coordinate) {
    return first + strided.Offset(coordinate);
  });
  return OkStatus();
}

}  // namespace fettle::ops
