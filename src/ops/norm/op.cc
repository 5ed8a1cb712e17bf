#include "ops/norm/op.h"

#include "ops/host_ints.h"
#include "ops/infer.h"
#include "ops/norm/onnx.h"
#include "ops/op.h"

namespace fettle::ops {

Status BatchNormReference(const RefContext& context, const Region& region);
Status BatchNormTrainingReference(const RefContext& context, const Region& region);
Status GroupedNormReference(const RefContext& context, const Region& region);
Status LpNormReference(const RefContext& context, const Region& region);
Status LrnReference(const RefContext& context, const Region& region);

namespace {

Status ExpectChannels(const InferContext& context, int first, int last) {
  const Shape& x = context.shape(0);
  if (x.rank() < 2) return InvalidModel("expected [n, c, ...], got {}", x.ToString());
  for (int i = first; i < last; ++i) {
    if (context.shape(i) != Shape{x[1]}) {
      return InvalidModel("input {} has the shape {}, expected {}", i, context.shape(i).ToString(),
                          x[1]);
    }
  }
  return OkStatus();
}

Status InferBatchNorm(InferContext& context) {
  for (int i = 0; i < 5; ++i) RETURN_IF_ERROR(CheckType(context, i, kFloatTypes));
  RETURN_IF_ERROR(ExpectChannels(context, 1, 5));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  context.SetOutput(1, context.dtype(3), context.shape(3));
  context.SetOutput(2, context.dtype(4), context.shape(4));
  return OkStatus();
}

Status InferInstanceNorm(InferContext& context) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(CheckType(context, i, kFloatTypes));
  RETURN_IF_ERROR(ExpectChannels(context, 1, 3));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

Status InferGroupNorm(InferContext& context) {
  RETURN_IF_ERROR(InferInstanceNorm(context));
  return ReadNormGroups(context.node(), context.shape(0)).status();
}

/// LayerNormalization and RMSNormalization: scale and bias broadcast to the normalised axes.
Status InferLayerNorm(InferContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i)
    RETURN_IF_ERROR(CheckType(context, i, kFloatTypes));
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const NormGroups groups, ReadNormGroups(context.node(), x));
  Dims statistics = x.dims();
  for (size_t i = 0; i < statistics.size(); ++i) {
    if (groups.mask[i]) statistics[i] = 1;
  }
  for (int i = 1; i < context.num_inputs(); ++i) {
    if (context.has_input(i) && BroadcastShapes(context.shape(i), x) != x) {
      return InvalidModel("input {} of shape {} does not broadcast to {}", i,
                          context.shape(i).ToString(), x.ToString());
    }
  }
  context.SetOutput(0, context.dtype(0), x);
  // Of doubles too: ONNX has no statistics in another type.
  context.SetOutput(1, DType::kF32, Shape(statistics));
  context.SetOutput(2, DType::kF32, Shape(statistics));
  return OkStatus();
}

Status InferLpNorm(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  RETURN_IF_ERROR(ReadNormGroups(context.node(), context.shape(0)).status());
  const int64_t p = context.attributes().Int("p", 2);
  if (p != 1 && p != 2) return InvalidModel("attribute 'p': expected 1|2, got {}", p);
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

Status InferLrn(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  RETURN_IF_ERROR(ExpectChannels(context, 0, 0));
  RETURN_IF_ERROR(ReadLrn(context.node()).status());
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

constexpr ir::Traits kNorm = {Trait::kTakesEpilogue, Trait::kNormalises};

Operator LayerNorm(std::string_view name, int max_inputs, int max_outputs) {
  return {
      {.name = name, .traits = kNorm, .max_inputs = max_inputs, .max_outputs = max_outputs},
      {.infer = InferLayerNorm, .reference = GroupedNormReference, .imports = NormImports(name)}};
}

Operator ChannelNorm(std::string_view name, Status (*infer)(InferContext&)) {
  return {{.name = name, .traits = kNorm, .min_inputs = 3, .max_inputs = 3},
          {.infer = infer, .reference = GroupedNormReference, .imports = NormImports(name)}};
}

}  // namespace

Result<NormGroups> ReadNormGroups(const ir::Node& node, const Shape& x) {
  NormGroups groups{x, AxisMask(x.rank(), false)};
  if (node.op == "InstanceNormalization"_op) {
    for (int i = 2; i < x.rank(); ++i) groups.mask[i] = true;
    return groups;
  }
  if (node.op == "GroupNormalization"_op) {
    const int64_t count = node.attributes.Int("num_groups", 0);
    if (x.rank() < 2 || count < 1 || x[1] % count != 0)
      return InvalidModel("attribute 'num_groups': {} groups do not divide {}", count,
                          x.ToString());
    Dims dims = x.dims();
    dims[1] = x[1] / count;
    dims.insert(dims.begin() + 1, count);
    groups.shape = Shape(dims);
    groups.mask.assign(dims.size(), true);
    groups.mask[0] = groups.mask[1] = false;
    return groups;
  }
  ASSIGN_OR_RETURN(const int axis, ReadAxis(node.attributes.Int("axis", -1), x.rank()));
  const int last = node.op == "LpNormalization"_op ? axis + 1 : x.rank();
  for (int i = axis; i < last; ++i) groups.mask[i] = true;
  return groups;
}

Result<LrnAttributes> ReadLrn(const ir::Node& node) {
  LrnAttributes lrn;
  lrn.alpha = node.attributes.Float("alpha", 1e-4);
  lrn.beta = node.attributes.Float("beta", 0.75);
  lrn.bias = node.attributes.Float("bias", 1);
  lrn.size = node.attributes.Int("size", 0);
  if (lrn.size < 1) return InvalidModel("attribute 'size': expected 1 or more, got {}", lrn.size);
  return lrn;
}

std::span<const Operator> NormOps() {
  static const Operator kOps[] = {
      {{.name = "BatchNormalization",
        .traits = {Trait::kPointwise},
        .min_inputs = 5,
        .max_inputs = 5},
       {.infer = InferBatchNorm,
        .reference = BatchNormReference,
        .imports = NormImports("BatchNormalization"),
        .refused = "saved statistics of opset 8 and before: only training reads them"}},
      {{.name = "BatchNormalizationTraining",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 5,
        .max_inputs = 5,
        .max_outputs = 3},
       {.infer = InferBatchNorm,
        .reference = BatchNormTrainingReference}},  // emitted by the rule of BatchNormalization
      ChannelNorm("GroupNormalization", InferGroupNorm),
      ChannelNorm("InstanceNormalization", InferInstanceNorm),
      {{.name = "LRN", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferLrn, .reference = LrnReference, .imports = NormImports("LRN")}},
      LayerNorm("LayerNormalization", 3, 3),
      {{.name = "LpNormalization", .traits = kNorm},
       {.infer = InferLpNorm,
        .reference = LpNormReference,
        .imports = NormImports("LpNormalization")}},
      LayerNorm("RMSNormalization", 2, 1),
  };
  return kOps;
}

}  // namespace fettle::ops
