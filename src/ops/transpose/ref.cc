// Scalar oracle of Transpose.
#include "ops/element_access.h"
#include "ops/transpose/op.h"

namespace fettle::ops {

Status TransposeReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const std::vector<int> perm, ReadPermutation(context.node, x.shape.rank()));
  HostView permuted{x.data, x.dtype, y.shape, {}};
  for (int axis : perm) permuted.strides.push_back(x.strides[axis]);
  MoveElements(x, y, region, [&](int64_t, std::span<const int64_t> coordinate) {
    return permuted.Offset(coordinate);
  });
  return OkStatus();
}

}  // namespace fettle::ops
