#include "ops/transpose/op.h"

#include <fmt/ranges.h>

#include "ops/extent_rule.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Status InferTranspose(InferContext& context) {
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const std::vector<int> perm, ReadPermutation(context.node(), x.rank()));
  Dims dims;
  for (int axis : perm) dims.push_back(x[axis]);
  context.SetOutput(0, context.dtype(0), Shape(std::move(dims)));
  return OkStatus();
}

class TransposeExtents final : public ExtentRule {
 public:
  explicit TransposeExtents(std::vector<int> perm) : perm_(std::move(perm)) {}

  bool At(OperandShapes inputs, Shape& output) const override {
    output = *inputs[0];
    for (size_t i = 0; i < perm_.size(); ++i) output[static_cast<int>(i)] = (*inputs[0])[perm_[i]];
    return true;
  }

 private:
  std::vector<int> perm_;
};

std::unique_ptr<ExtentRule> MakeTransposeExtents(const ir::Node& node, OperandShapes inputs) {
  Result<std::vector<int>> perm = ReadPermutation(node, inputs[0]->rank());
  return perm.ok() ? std::make_unique<TransposeExtents>(std::move(*perm)) : nullptr;
}

constexpr ImportRule kTransposeImports[] = {{.op_type = "Transpose"}};

}  // namespace

Result<std::vector<int>> ReadPermutation(const ir::Node& node, int rank) {
  std::vector<int> perm;
  if (!node.attributes.Has("perm")) {
    for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
    return perm;
  }
  const std::vector<int64_t> values = node.attributes.Ints("perm");
  std::vector<bool> seen(rank);
  for (int64_t axis : values) {
    if (axis < 0 || axis >= rank || seen[axis]) break;
    seen[axis] = true;
    perm.push_back(static_cast<int>(axis));
  }
  if (values.size() != seen.size() || perm.size() != seen.size()) {
    return InvalidModel("attribute 'perm': [{}] is not a permutation of {} axes",
                        fmt::join(values, ","), rank);
  }
  return perm;
}

Status TransposeReference(const RefContext& context, const Region& region);

std::span<const Operator> TransposeOps() {
  static const Operator kOps[] = {
      {{.name = "Transpose", .traits = {Trait::kMovesElements}},
       {.infer = InferTranspose,
        .reference = TransposeReference,
        .imports = kTransposeImports,
        .types = "all"}},
  };
  return kOps;
}

std::span<const ExtentRow> TransposeExtentRules() {
  static constexpr ExtentRow kRows[] = {{"Transpose", MakeTransposeExtents}};
  return kRows;
}

}  // namespace fettle::ops
