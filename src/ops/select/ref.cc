// Scalar oracles of the operators that pick elements.
#include <algorithm>
#include <numeric>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/select/op.h"

namespace fettle::ops {
namespace {

/// Copies a vector of integers to a rank-1 output, if it is wanted.
void StoreInts(const RefContext& context, size_t output, const std::vector<int64_t>& values) {
  if (!context.has_output(output)) return;
  const HostView& y = context.outputs[output];
  for (size_t i = 0; i < values.size(); ++i)
    y.SetInt(static_cast<int64_t>(i) * y.strides[0], values[i]);
}

/// The best `k` positions of a strided row, best first, the lower position among equals.
template <typename T>
void RankRow(const T* row, int64_t stride, bool largest, std::vector<int64_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return ComesFirst(row[a * stride], row[b * stride], largest);
  });
}

/// Output element c of Unique and Compress is the input's with entry kept[c[axis]] of the axis (of
/// the flattened input where there is none).
void MoveEntries(const HostView& x, const HostView& y, const Region& region, bool has_axis,
                 int axis, const std::vector<int64_t>& kept) {
  std::vector<int64_t> from(x.shape.rank());
  const size_t at = axis;
  MoveElements(x, y, region, [&](int64_t, std::span<const int64_t> c) {
    const int64_t entry = kept[c[at]];
    if (!has_axis) {
      Unravel(entry, x.shape, from);
    } else {
      from.assign(c.begin(), c.end());
      from[at] = entry;
    }
    return x.Offset(from);
  });
}

}  // namespace

/// Writes both outputs whole. With sorted=0 any order would do; sorted order is used.
Status TopKReference(const RefContext& context, const Region&) {
  const HostView& x = context.inputs[0];
  const int axis = *NormaliseAxis(context.attributes().Int("axis", -1), x.shape.rank());
  const size_t at = axis;
  const int64_t k = IntsOf(context.inputs[1])[0];
  const bool largest = context.attributes().Int("largest", 1) != 0;
  Shape rows = x.shape;
  rows[axis] = 1;
  std::vector<int64_t> order(x.shape[axis]);
  const auto rank_row = [&]<typename T>(std::span<const int64_t> c) {
    const T* row = x.as<T>() + x.Offset(c);
    RankRow(row, x.strides[at], largest, order);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t from = order[i];
      if (context.has_output(0)) {
        const HostView& values = context.outputs[0];
        values.as<T>()[values.Offset(c) + i * values.strides[at]] = row[from * x.strides[at]];
      }
      if (context.has_output(1)) {
        const HostView& indices = context.outputs[1];
        indices.as<int64_t>()[indices.Offset(c) + i * indices.strides[at]] = from;
      }
    }
  };
  DispatchDType(x.dtype, [&]<typename T>() {
    ForEachCoordinate(rows, {0, rows.elements()}, [&](int64_t, std::span<const int64_t> c) {
      rank_row.template operator()<T>(c);
    });
  });
  return OkStatus();
}

Status NonZeroReference(const RefContext& context, const Region&) {
  const HostView& y = context.outputs[0];
  const std::vector<int64_t> coordinates = FindNonZero(context.inputs[0]);
  const int64_t rank = context.inputs[0].shape.rank();
  if (rank > 0 && static_cast<int64_t>(coordinates.size()) != rank * y.shape[1])
    return InvalidArgument("the input changed after its shape was inferred");
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    y.SetInt(at % rank * y.strides[0] + at / rank * y.strides[1], coordinates[i]);
  }
  return OkStatus();
}

Status UniqueReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const bool has_axis = context.attributes().Has("axis");
  const int axis = has_axis ? *NormaliseAxis(context.attributes().Int("axis"), x.shape.rank()) : 0;
  const UniqueEntries entries =
      FindUnique(x, has_axis, axis, context.attributes().Int("sorted", 1) != 0);
  if (static_cast<int64_t>(entries.first.size()) != y.shape[axis])
    return InvalidArgument("the input changed after its shape was inferred");
  MoveEntries(x, y, {0, y.shape.elements()}, has_axis, axis, entries.first);
  StoreInts(context, 1, entries.first);
  StoreInts(context, 2, entries.inverse);
  StoreInts(context, 3, entries.counts);
  return OkStatus();
}

Status CompressReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const bool has_axis = context.attributes().Has("axis");
  const int axis = has_axis ? *NormaliseAxis(context.attributes().Int("axis"), x.shape.rank()) : 0;
  const int64_t extent = has_axis ? x.shape[axis] : x.shape.elements();
  const std::vector<int64_t> condition = IntsOf(context.inputs[1]);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition.size() && static_cast<int64_t>(i) < extent; ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  if (static_cast<int64_t>(kept.size()) != y.shape[axis])
    return InvalidArgument("the condition changed after the shape was inferred");
  MoveEntries(x, y, region, has_axis, axis, kept);
  return OkStatus();
}

Status ReverseSequenceReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &lengths = context.inputs[1], &y = context.outputs[0];
  const size_t batch = context.attributes().Int("batch_axis", 1);
  const size_t time = 1 - batch;
  for (int64_t length : IntsOf(lengths)) {
    if (length < 0 || length > x.shape[static_cast<int>(time)])
      return InvalidArgument("sequence length {} is out of range", length);
  }
  MoveElements(x, y, region, [&](int64_t, std::span<const int64_t> c) {
    const int64_t length = lengths.GetInt(c[batch] * lengths.strides[0]);
    const int64_t from = c[time] < length ? length - 1 - c[time] : c[time];
    return x.Offset(c) + (from - c[time]) * x.strides[time];
  });
  return OkStatus();
}

Status TensorScatterReference(const RefContext& context, const Region& region) {
  const HostView &cache = context.inputs[0], &update = context.inputs[1], &y = context.outputs[0];
  const size_t axis = *NormaliseAxis(context.attributes().Int("axis", -2), y.shape.rank());
  const int64_t extent = y.shape[static_cast<int>(axis)];
  const int64_t length = update.shape[static_cast<int>(axis)];
  const bool circular = context.attributes().Text("mode", "linear") == "circular";
  std::vector<int64_t> starts(y.shape[0], 0);
  if (context.has_input(2)) starts = IntsOf(context.inputs[2]);
  for (int64_t start : starts) {
    if (start < 0 || start > extent || (!circular && start + length > extent))
      return InvalidArgument("write index {} is out of range", start);
  }
  DispatchElementSize(y.dtype, [&]<typename U>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
      int64_t at = c[axis] - starts[c[0]];
      if (circular && at < 0) at += extent;
      const int64_t from = update.Offset(c) + (at - c[axis]) * update.strides[axis];
      y.as<U>()[y.Offset(c)] =
          at >= 0 && at < length ? update.as<U>()[from] : cache.as<U>()[cache.Offset(c)];
    });
  });
  return OkStatus();
}

}  // namespace fettle::ops
