#include "ops/concat/op.h"

#include <algorithm>

#include "ops/extent_rule.h"
#include "ops/host_ints.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Status InferConcat(InferContext& context) {
  Shape shape = context.shape(0);
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis", 1), shape.rank()));
  for (int i = 1; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) return InvalidModel("input {} is left out", i);
    Shape part = context.shape(i);
    if (context.dtype(i) != context.dtype(0)) {
      return InvalidModel("inputs 0 and {} have the types {} and {}", i,
                          DTypeName(context.dtype(0)), DTypeName(context.dtype(i)));
    }
    const int64_t extent = part.rank() == shape.rank() ? part[axis] : 0;
    if (part.rank() == shape.rank()) part[axis] = shape[axis];
    if (part != shape) {
      return InvalidModel("shapes {} and {} do not join along axis {}", context.shape(0).ToString(),
                          context.shape(i).ToString(), axis);
    }
    if (extent > kMaxElements - shape[axis]) return InvalidModel("axis {} grows too long", axis);
    shape[axis] += extent;
  }
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

class ConcatExtents final : public ExtentRule {
 public:
  explicit ConcatExtents(int axis) : axis_(axis) {}

  bool At(OperandShapes inputs, Shape& output) const override {
    output = *inputs[0];
    for (const Shape* part : inputs.subspan(1)) {
      for (int i = 0; i < output.rank(); ++i)
        if (i != axis_ && (*part)[i] != output[i]) return false;
      if ((*part)[axis_] > kMaxElements - output[axis_]) return false;
      output[axis_] += (*part)[axis_];
    }
    return true;
  }

 private:
  int axis_;
};

std::unique_ptr<ExtentRule> MakeConcatExtents(const ir::Node& node, OperandShapes inputs) {
  const auto axis = ReadAxis(node.attributes.Int("axis", 1), inputs[0]->rank());
  return axis.ok() ? std::make_unique<ConcatExtents>(*axis) : nullptr;
}

Status InferSplit(InferContext& context) {
  Shape shape = context.shape(0);
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis"), shape.rank()));
  std::vector<int64_t> sizes;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "split", sizes));
  if (!known) return OkStatus();
  ASSIGN_OR_RETURN(sizes, ReadSplitSizes(context.node(), sizes, shape[axis]));
  for (int i = 0; i < context.num_outputs(); ++i) {
    shape[axis] = sizes[i];
    context.SetOutput(i, context.dtype(0), shape);
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<int64_t>> ReadSplitSizes(const ir::Node& node, std::span<const int64_t> sizes,
                                            int64_t extent) {
  const auto outputs = static_cast<int64_t>(node.outputs.size());
  if (!sizes.empty()) {
    int64_t left = extent;
    for (int64_t size : sizes) {
      if (size < 0 || size > left) {
        return InvalidModel("input 'split': the parts do not make up the extent {}", extent);
      }
      left -= size;
    }
    if (left != 0 || static_cast<int64_t>(sizes.size()) != outputs) {
      return InvalidModel("input 'split': {} parts do not split {} elements into {} outputs",
                          sizes.size(), extent, outputs);
    }
    return std::vector<int64_t>(sizes.begin(), sizes.end());
  }
  const int64_t count = node.attributes.Int("num_outputs", outputs);
  if (count != outputs || count < 1)
    return InvalidModel("attribute 'num_outputs': expected {}, got {}", outputs, count);
  if (!node.attributes.Has("num_outputs") && extent % count != 0)
    return InvalidModel("{} elements do not split into {} equal parts", extent, count);
  const int64_t part = (extent + count - 1) / count;
  std::vector<int64_t> parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(std::clamp<int64_t>(extent - i * part, 0, part));
  return parts;
}

Status ConcatReference(const RefContext& context, const Region& region);
Status SplitReference(const RefContext& context, const Region& region);
std::span<const ImportRule> ConcatImports();
std::span<const ImportRule> SplitImports();

std::span<const Operator> ConcatOps() {
  static const Operator kOps[] = {
      {{.name = "Concat", .traits = {Trait::kMovesElements}, .max_inputs = -1},
       {.infer = InferConcat,
        .reference = ConcatReference,
        .imports = ConcatImports(),
        .types = "all",
        .refused = "sequences"}},
      {{.name = "Split",
        .traits = {Trait::kMovesElements, Trait::kWholeOutput},
        .max_inputs = 2,
        .max_outputs = -1,
        .host_inputs = 0b10},
       {.infer = InferSplit,
        .reference = SplitReference,
        .imports = SplitImports(),
        .types = "all"}},
  };
  return kOps;
}

std::span<const ExtentRow> ConcatExtentRules() {
  static constexpr ExtentRow kRows[] = {{"Concat", MakeConcatExtents}};
  return kRows;
}

}  // namespace fettle::ops
