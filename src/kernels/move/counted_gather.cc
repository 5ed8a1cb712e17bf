#include "kernels/move/counted_gather.h"

#include "ops/op.h"
#include "tensor/tensor.h"

namespace fettle::kernels {
namespace {

/// index(i, j, ..) = first + i * steps[0] + j * steps[1] + ..
struct Counted {
  int64_t first = 0;
  std::vector<int64_t> steps;
};

Result<Counted> ReadCounted(const Constant& indices, int64_t extent) {
  const Shape& shape = indices.shape();
  const auto index = [&](int64_t at) {
    const int64_t value = indices.GetInt(at);
    return value < 0 ? value + extent : value;
  };
  if (indices.elements() == 0) return Unsupported("no indices");
  Counted counted{.first = index(0), .steps = {}};
  const Dims strides = RowMajorStrides(shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    counted.steps.push_back(shape[axis] > 1 ? index(strides[axis]) - counted.first : 0);
  for (int64_t i = 0; i < indices.elements(); ++i) {
    int64_t expected = counted.first, rest = i;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      expected += rest / strides[axis] * counted.steps[axis];
      rest %= strides[axis];
    }
    if (index(i) != expected || expected < 0 || expected >= extent)
      return Unsupported("indices that are not evenly spaced within the axis");
  }
  return counted;
}

}  // namespace

Result<Piece> CountedGather(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "Gather"_op) return Unsupported("gathers only");
  const ir::Value& indices = group.value(node.inputs[1]);
  if (!indices.is_constant()) return Unsupported("indices that are only known at run time");
  const Shape &x = *group.value(node.inputs[0]).shape, &y = *group.value(node.outputs[0]).shape;
  const int64_t given = node.attributes.Int("axis", 0);
  const int gathered = static_cast<int>(given < 0 ? given + x.rank() : given);
  ASSIGN_OR_RETURN(const Counted counted, ReadCounted(*indices.constant, x[gathered]));
  const Dims from = RowMajorStrides(x), to = RowMajorStrides(y);
  const int added = static_cast<int>(counted.steps.size());
  Piece piece{.src_offset = counted.first * from[gathered]};
  for (int axis = 0; axis < y.rank(); ++axis) {
    const bool is_index = axis >= gathered && axis < gathered + added;
    const int of_x = axis < gathered ? axis : axis - added + 1;
    const int64_t step = is_index ? counted.steps[axis - gathered] * from[gathered] : from[of_x];
    piece.axes.push_back({y[axis], step, to[axis]});
  }
  return piece;
}

}  // namespace fettle::kernels
