#include "ops/loss/op.h"

#include "ops/import.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {

Status LossReference(const RefContext& context, const Region& region);

namespace {

Status InferLoss(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  RETURN_IF_ERROR(CheckType(context, 1, TypeBit(DType::kI32) | TypeBit(DType::kI64)));
  RETURN_IF_ERROR(CheckType(context, 2, kFloatTypes));
  ASSIGN_OR_RETURN(const LossAttributes loss, ReadLoss(context.node()));
  const Shape& x = context.shape(0);
  if (x.rank() < 2) return InvalidModel("expected [n, c, ...], got {}", x.ToString());
  Dims target = x.dims();
  target.erase(target.begin() + 1);
  if (context.shape(1).dims() != target)
    return InvalidModel("target has the shape {}, expected {}", context.shape(1).ToString(),
                        Shape(target).ToString());
  if (context.has_input(2) && context.shape(2) != Shape{x[1]})
    return InvalidModel("weight has the shape {}, expected {}", context.shape(2).ToString(), x[1]);
  const bool scalar = loss.reduction != LossAttributes::Reduction::kNone;
  context.SetOutput(0, context.dtype(0), scalar ? Shape() : Shape(target));
  return OkStatus();
}

/// The loss of LogSoftmax over the classes, which is also output 1.
Status ImportSoftmaxCrossEntropy(ImportContext& context) {
  const ir::ValueId log_prob =
      context.Emit1("LogSoftmax", {context.input(0)}, {{"axis", int64_t{1}}});
  context.Bind(
      0, context.Emit1("NegativeLogLikelihoodLoss", {log_prob, context.input(1), context.input(2)},
                       context.attributes()));
  if (context.num_outputs() > 1) context.Bind(1, log_prob);
  return OkStatus();
}

constexpr ImportRule kLossImports[] = {
    {.op_type = "NegativeLogLikelihoodLoss"},
    {.op_type = "SoftmaxCrossEntropyLoss", .run = ImportSoftmaxCrossEntropy}};

}  // namespace

Result<LossAttributes> ReadLoss(const ir::Node& node) {
  LossAttributes loss;
  const std::string reduction = node.attributes.Text("reduction", "mean");
  if (reduction == "none") {
    loss.reduction = LossAttributes::Reduction::kNone;
  } else if (reduction == "sum") {
    loss.reduction = LossAttributes::Reduction::kSum;
  } else if (reduction != "mean") {
    return InvalidModel("attribute 'reduction': expected none|sum|mean, got '{}'", reduction);
  }
  if (node.attributes.Has("ignore_index")) loss.ignore_index = node.attributes.Int("ignore_index");
  return loss;
}

std::span<const Operator> LossOps() {
  static const Operator kOps[] = {
      {{.name = "NegativeLogLikelihoodLoss", .min_inputs = 2, .max_inputs = 3},
       {.infer = InferLoss, .reference = LossReference, .imports = kLossImports}},
  };
  return kOps;
}

}  // namespace fettle::ops
