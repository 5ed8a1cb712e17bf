// Scalar oracles of the operators that only move elements: DepthToSpace, SpaceToDepth,
// CenterCropPad; and of Col2Im, which adds them up.
#include <cstring>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::ops {
namespace {

void CopyElement(const HostView& x, int64_t x_offset, const HostView& y, int64_t y_offset) {
  std::memcpy(y.data + StorageBytes(y.dtype, y_offset), x.data + StorageBytes(x.dtype, x_offset),
              StorageBytes(x.dtype, 1));
}

/// Where the element of the space side (c, h, w) lies on the depth side.
void ToDepth(std::span<const int64_t> space, int64_t channels, int64_t block, bool crd,
             std::span<int64_t> depth) {
  const int64_t inner = space[2] % block * block + space[3] % block;
  depth[0] = space[0];
  depth[1] = crd ? space[1] * block * block + inner : inner * channels + space[1];
  depth[2] = space[2] / block;
  depth[3] = space[3] / block;
}

/// The inverse of ToDepth.
void ToSpace(std::span<const int64_t> depth, int64_t channels, int64_t block, bool crd,
             std::span<int64_t> space) {
  const int64_t inner = crd ? depth[1] % (block * block) : depth[1] / channels;
  space[0] = depth[0];
  space[1] = crd ? depth[1] / (block * block) : depth[1] % channels;
  space[2] = depth[2] * block + inner / block;
  space[3] = depth[3] * block + inner % block;
}

}  // namespace

Status DepthSpaceReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const int64_t block = context.attributes().Int("blocksize", 1);
  const bool crd = context.attributes().Text("mode", "DCR") == "CRD";
  const bool to_space = context.node.op == "DepthToSpace"_op;
  const int64_t channels = to_space ? y.shape[1] : x.shape[1];
  for (int64_t i = region.begin; i < region.end; ++i) {
    int64_t out[4], from[4];
    Unravel(i, y.shape, out);
    if (to_space) {
      ToDepth(out, channels, block, crd, from);
    } else {
      ToSpace(out, channels, block, crd, from);
    }
    CopyElement(x, x.Offset(from), y, y.Offset(out));
  }
  return OkStatus();
}

Status CenterCropPadReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const CenterCropPadAttributes crop,
                   ReadCenterCropPad(context.node, x.shape, IntsOf(context.inputs[1])));
  std::vector<int64_t> out(crop.shift.size()), from(crop.shift.size());
  for (int64_t i = region.begin; i < region.end; ++i) {
    Unravel(i, y.shape, out);
    bool inside = true;
    for (size_t axis = 0; axis < out.size(); ++axis) {
      from[axis] = out[axis] + crop.shift[axis];
      inside = inside && from[axis] >= 0 && from[axis] < x.shape[static_cast<int>(axis)];
    }
    if (inside) {
      CopyElement(x, x.Offset(from), y, y.Offset(out));
    } else {
      y.SetInt(y.Offset(out), 0);
    }
  }
  return OkStatus();
}

Status Col2ImReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const Col2ImAttributes col,
                   ReadCol2Im(context.node, IntsOf(context.inputs[1]), IntsOf(context.inputs[2])));
  const Shape block(col.block);
  const int64_t taps = block.elements();
  const size_t rank = col.block.size();
  std::vector<int64_t> out(rank + 2), tap(rank);
  for (int64_t i = region.begin; i < region.end; ++i) {
    Unravel(i, y.shape, out);
    double sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      Unravel(t, block, tap);
      int64_t column = 0;
      bool covered = true;
      for (size_t axis = 0; axis < rank; ++axis) {
        const int64_t start = out[axis + 2] + col.pad_begin[axis] - tap[axis] * col.dilations[axis];
        covered = covered && start >= 0 && start % col.strides[axis] == 0 &&
                  start / col.strides[axis] < col.positions[axis];
        column = column * col.positions[axis] + start / col.strides[axis];
      }
      if (!covered) continue;
      const int64_t at[] = {out[0], out[1] * taps + t, column};
      sum += x.GetDouble(x.Offset(at));
    }
    y.SetDouble(y.Offset(out), sum);
  }
  return OkStatus();
}

}  // namespace fettle::ops
