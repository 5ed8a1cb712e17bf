// Scalar oracle of ChannelShuffle.
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::ops {

Status ChannelShuffleReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const int64_t groups = context.attributes().Int("groups", 1);
  const int64_t columns = x.shape[1] / groups;
  std::vector<int64_t> from;
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> coordinate) {
      from.assign(coordinate.begin(), coordinate.end());
      from[1] = coordinate[1] % groups * columns + coordinate[1] / groups;
      y.as<U>()[y.Offset(coordinate)] = x.as<U>()[x.Offset(from)];
    });
  });
  return OkStatus();
}

}  // namespace fettle::ops
