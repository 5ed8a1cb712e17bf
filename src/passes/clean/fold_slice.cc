#include "passes/clean/fold_slice.h"

#include <algorithm>

#include "ops/op.h"
#include "ops/slice/op.h"
#include "tensor/transposed_constant.h"

namespace fettle::passes {
namespace {

/// What is worth keeping the whole constant for.
constexpr int64_t kSharedElements = 4096;

std::vector<int64_t> Ints(const std::vector<std::shared_ptr<const Constant>>& inputs, size_t i) {
  std::vector<int64_t> ints;
  if (i >= inputs.size() || inputs[i] == nullptr) return ints;
  for (int64_t k = 0; k < inputs[i]->elements(); ++k) ints.push_back(inputs[i]->GetInt(k));
  return ints;
}

/// The axes behind `axis` are taken whole, and so many of its elements follow each other.
struct Run {
  int axis = 0;
  int64_t count = 1;     // of the axis
  int64_t elements = 1;  // of all of them
};

Run RunOf(const Shape& whole, const ops::SliceWindow& window) {
  Run run{.axis = whole.rank() - 1};
  const auto is_whole = [&](int axis) {
    return window.step[axis] == 1 && window.shape[axis] == whole[axis];
  };
  for (; run.axis > 0 && is_whole(run.axis); --run.axis) run.elements *= whole[run.axis];
  if (window.step[run.axis] == 1) run.count = window.shape[run.axis];
  run.elements *= run.count;
  return run;
}

/// Where the run begins in the constant that holds element `at` of the window.
/// `coordinate`: of the window's rank, for the moment.
int64_t PlaceOf(int64_t at, const Dims& strides, const ops::SliceWindow& window,
                std::vector<int64_t>& coordinate) {
  Unravel(at, window.shape, coordinate);
  int64_t place = 0;
  for (size_t i = 0; i < coordinate.size(); ++i)
    place += (window.start[i] + coordinate[i] * window.step[i]) * strides[i];
  return place;
}

}  // namespace

std::optional<Constant> FoldSlice(const ir::Node& node,
                                  const std::vector<std::shared_ptr<const Constant>>& inputs) {
  if (node.op != "Slice"_op || inputs.empty() || inputs[0] == nullptr) return std::nullopt;
  const Constant& whole = *inputs[0];
  const Shape& shape = whole.shape();
  if (shape.rank() == 0 || whole.is_splat() || !HasWholeBytes(whole.dtype())) return std::nullopt;
  const Result<ops::SliceWindow> window =
      ops::ResolveSlice(shape, Ints(inputs, 1), Ints(inputs, 2), Ints(inputs, 3), Ints(inputs, 4));
  if (!window.ok() || window->shape.elements() == 0) return std::nullopt;
  const int64_t elements = window->shape.elements(), size = StorageBytes(whole.dtype(), 1);
  const Run run = RunOf(shape, *window);
  const Dims strides = RowMajorStrides(shape);
  std::vector<int64_t> coordinate(shape.rank());
  if (run.elements == elements && elements >= kSharedElements && whole.source() == nullptr) {
    const int64_t first = PlaceOf(0, strides, *window, coordinate);
    return Constant::FromBytes(whole.dtype(), window->shape,
                               whole.bytes().subspan(first * size, elements * size), inputs[0]);
  }
  const Result<Tensor> copy = Tensor::Create(whole.dtype(), window->shape);
  if (!copy.ok()) return std::nullopt;
  for (int64_t at = 0; at < elements; at += run.elements)
    whole.CopyTo(PlaceOf(at, strides, *window, coordinate), run.elements, copy->data() + at * size);
  return Constant::FromTensor(*copy);
}

}  // namespace fettle::passes
