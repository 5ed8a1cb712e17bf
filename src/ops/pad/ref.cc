// Scalar oracle of padding: a table of source indices per axis.
#include <cstring>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/pad/op.h"

namespace fettle::ops {

Status PadReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const std::vector<int64_t> pads = IntsOf(context.inputs[1]);
  const std::vector<int64_t> axes = context.has_input(3) ? IntsOf(context.inputs[3]) : Dims();
  ASSIGN_OR_RETURN(const PadAttributes pad,
                   ReadPad(context.node, x.shape, pads, context.has_input(3) ? &axes : nullptr));
  std::vector<std::vector<int64_t>> sources;
  const std::vector<IndexRange> ranges = IndexRanges(y.shape, region);
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const IndexRange& range = ranges[axis];
    sources.push_back(PadSources(pad, x.shape, axis, range.begin, range.end));
  }
  const size_t size = StorageBytes(x.dtype, 1);
  std::vector<std::byte> fill(size);
  if (context.has_input(2)) std::memcpy(fill.data(), context.inputs[2].data, size);
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> out) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis < out.size(); ++axis) {
      const int64_t source = sources[axis][out[axis] - ranges[axis].begin];
      inside = inside && source >= 0;
      offset += source * x.strides[axis];
    }
    const std::byte* from = inside ? x.data + StorageBytes(x.dtype, offset) : fill.data();
    std::memcpy(y.data + StorageBytes(y.dtype, y.Offset(out)), from, size);
  });
  return OkStatus();
}

}  // namespace fettle::ops
