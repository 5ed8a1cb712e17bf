// Scalar oracles of the gather and scatter operators.
#include "ops/element_access.h"
#include "ops/gather/op.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Remembers the first index that is out of range; such a lookup reads element 0 instead.
struct IndexCheck {
  Status status = OkStatus();
  int64_t operator()(int64_t index, int64_t extent) {
    const int64_t normal = NormaliseIndex(index, extent);
    if (normal < 0 && status.ok()) status = IndexOutOfRange(index, extent);
    return normal;
  }
};

int64_t OffsetOf(const HostView& view, std::span<const int64_t> coordinate, size_t first) {
  int64_t offset = 0;
  for (size_t i = first; i < view.strides.size(); ++i)
    offset += coordinate[i - first] * view.strides[i];
  return offset;
}

/// The element offset in `x` that one tuple of indices names, from axis `batch` on.
int64_t TupleOffset(const HostView& x, const HostView& indices, int64_t at, size_t batch,
                    IndexCheck& check) {
  const size_t last = indices.strides.size() - 1;
  const int64_t depth = indices.shape[static_cast<int>(last)];
  int64_t offset = 0;
  for (int64_t k = 0; k < depth; ++k) {
    const size_t axis = batch + k;
    const int64_t index = indices.GetInt(at + k * indices.strides[last]);
    offset += check(index, x.shape[static_cast<int>(axis)]) * x.strides[axis];
  }
  return offset;
}

template <typename T>
void Store(Reduction reduction, const HostView& y, int64_t to, const HostView& updates,
           int64_t from) {
  T& old = y.as<T>()[to];
  old = Reduce(reduction, old, updates.as<T>()[from]);
}

}  // namespace

Status GatherReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &indices = context.inputs[1], &y = context.outputs[0];
  const size_t axis = *NormaliseAxis(context.attributes().Int("axis"), x.shape.rank());
  const size_t index_rank = indices.shape.rank();
  IndexCheck check;
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
      const int64_t index = check(indices.GetInt(OffsetOf(indices, c.subspan(axis), 0)),
                                  x.shape[static_cast<int>(axis)]);
      if (index < 0) return;
      int64_t offset = index * x.strides[axis];
      for (size_t i = 0; i < axis; ++i) offset += c[i] * x.strides[i];
      offset += OffsetOf(x, c.subspan(axis + index_rank), axis + 1);
      y.as<U>()[y.Offset(c)] = x.as<U>()[offset];
    });
  });
  return check.status;
}

Status GatherElementsReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &indices = context.inputs[1], &y = context.outputs[0];
  const size_t axis = *NormaliseAxis(context.attributes().Int("axis"), x.shape.rank());
  IndexCheck check;
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
      const int64_t index =
          check(indices.GetInt(indices.Offset(c)), x.shape[static_cast<int>(axis)]);
      if (index < 0) return;
      const int64_t offset = x.Offset(c) + (index - c[axis]) * x.strides[axis];
      y.as<U>()[y.Offset(c)] = x.as<U>()[offset];
    });
  });
  return check.status;
}

Status GatherNDReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &indices = context.inputs[1], &y = context.outputs[0];
  const size_t batch = context.attributes().Int("batch_dims");
  const size_t tuples = indices.strides.size() - 1;
  const size_t first = batch + indices.shape[static_cast<int>(tuples)];
  IndexCheck check;
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
      int64_t at = 0, offset = 0;
      for (size_t i = 0; i < tuples; ++i) at += c[i] * indices.strides[i];
      for (size_t i = 0; i < batch; ++i) offset += c[i] * x.strides[i];
      offset += TupleOffset(x, indices, at, batch, check);
      offset += OffsetOf(x, c.subspan(tuples), first);
      if (check.status.ok()) y.as<U>()[y.Offset(c)] = x.as<U>()[offset];
    });
  });
  return check.status;
}

/// Writes the whole output: updates may meet in any element.
Status ScatterElementsReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &indices = context.inputs[1], &updates = context.inputs[2],
                 &y = context.outputs[0];
  ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context.node));
  const size_t axis = *NormaliseAxis(context.attributes().Int("axis"), x.shape.rank());
  CopyView(x, y);
  IndexCheck check;
  DispatchDType(y.dtype, [&]<typename T>() {
    ForEachCoordinate(
        indices.shape, {0, indices.shape.elements()}, [&](int64_t, std::span<const int64_t> c) {
          const int64_t index =
              check(indices.GetInt(indices.Offset(c)), y.shape[static_cast<int>(axis)]);
          if (index < 0) return;
          const int64_t to = y.Offset(c) + (index - c[axis]) * y.strides[axis];
          Store<T>(reduction, y, to, updates, updates.Offset(c));
        });
  });
  return check.status;
}

/// Writes the whole output: updates may meet in any element.
Status ScatterNDReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &indices = context.inputs[1], &updates = context.inputs[2],
                 &y = context.outputs[0];
  ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context.node));
  const size_t tuples = indices.strides.size() - 1;
  const size_t depth = indices.shape[static_cast<int>(tuples)];
  CopyView(x, y);
  IndexCheck check;
  DispatchDType(y.dtype, [&]<typename T>() {
    ForEachCoordinate(
        updates.shape, {0, updates.shape.elements()}, [&](int64_t, std::span<const int64_t> c) {
          int64_t at = 0;
          for (size_t i = 0; i < tuples; ++i) at += c[i] * indices.strides[i];
          const int64_t to =
              TupleOffset(y, indices, at, 0, check) + OffsetOf(y, c.subspan(tuples), depth);
          if (!check.status.ok()) return;
          Store<T>(reduction, y, to, updates, updates.Offset(c));
        });
  });
  return check.status;
}

}  // namespace fettle::ops
