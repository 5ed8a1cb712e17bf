#include "ops/norm/onnx.h"

#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "ops/import.h"

namespace fettle::ops {
namespace {

bool OutputUsed(const ImportContext& context, size_t i) {
  return i < context.num_outputs() && !context.node().outputs[i].empty();
}

ir::Attributes Epsilon(const ImportContext& context, double fallback) {
  return {{"epsilon", context.attributes().Float("epsilon", fallback)}};
}

/// Only opset 14 and later train; before that, `spatial` = 0 gave each position its own statistics.
Status ImportBatchNorm(ImportContext& context) {
  const bool training = context.attributes().Int("training_mode", 0) != 0;
  if (context.attributes().Int("spatial", 1) == 0)
    return Unsupported("attribute 'spatial': 0 is not supported");
  ir::Attributes attributes = Epsilon(context, 1e-5);
  if (!training) {
    context.Bind(0, context.Emit1("BatchNormalization", context.node().inputs, attributes));
    return OkStatus();
  }
  attributes.Set("momentum", context.attributes().Float("momentum", 0.9));
  context.Copy("BatchNormalizationTraining", std::move(attributes));
  return OkStatus();
}

/// Opset 18 had one scale and bias per group: InstanceNormalization of the input seen as
/// [n, groups, rest].
Status ImportGroupNorm18(ImportContext& context) {
  const int64_t groups = context.attributes().Int("num_groups", 0);
  const ir::ValueId x = context.input(0);
  const ir::ValueId split = context.Emit1("Reshape", {x, context.ConstInts({0, groups, -1})});
  const ir::ValueId instance = context.Emit1(
      "InstanceNormalization", {split, context.input(1), context.input(2)}, Epsilon(context, 1e-5));
  context.Bind(0, context.Emit1("Reshape", {instance, context.Emit1("Shape", {x})}));
  return OkStatus();
}

/// x -> (x - mean) / (deviation + 1e-9) over `axes`, in primitives.
Status ImportMeanVariance(ImportContext& context) {
  const ir::ValueId axes = context.ConstInts(context.attributes().Ints("axes", {0, 2, 3}));
  const ir::ValueId x = context.input(0);
  const ir::ValueId centred = context.Emit1("Sub", {x, context.Emit1("ReduceMean", {x, axes})});
  const ir::ValueId square = context.Emit1("Mul", {centred, centred});
  const ir::ValueId deviation =
      context.Emit1("Sqrt", {context.Emit1("ReduceMean", {square, axes})});
  const ir::ValueId epsilon =
      context.Emit1("CastLike", {context.ConstScalar(DType::kF32, 1e-9), x});
  context.Bind(0, context.Emit1("Div", {centred, context.Emit1("Add", {deviation, epsilon})}));
  return OkStatus();
}

/// Output `i`: one over the root mean square of `x` over the axes from `axis`, which counts from
/// the last one, on.
void BindInverseRms(ImportContext& context, size_t i, ir::ValueId x, int64_t axis, double epsilon) {
  if (!OutputUsed(context, i)) return;
  std::vector<int64_t> axes(static_cast<size_t>(-axis));
  std::iota(axes.begin(), axes.end(), axis);
  const ir::ValueId square =
      context.Emit1("ReduceMean", {context.Emit1("Mul", {x, x}), context.ConstInts(axes)});
  const ir::ValueId added =
      context.Emit1("CastLike", {context.ConstScalar(DType::kF32, epsilon), x});
  const ir::ValueId root = context.Emit1("Sqrt", {context.Emit1("Add", {square, added})});
  context.Bind(i, context.Emit1("Reciprocal", {root}));
}

/// The root mean square alone (no mean is subtracted). Inputs x, scale; output 1 has no name in
/// what ranks that nobody knows give.
Status ImportSimplifiedLayerNorm(ImportContext& context) {
  ir::Attributes attributes = Epsilon(context, 1e-5);
  int64_t axis = context.attributes().Int("axis", -1);
  attributes.Set("axis", axis);
  const ir::ValueId x = context.input(0);
  const std::optional<int> rank = context.rank(0);
  context.Bind(0, context.Emit1("RMSNormalization", {x, context.input(1)}, std::move(attributes)));
  if (axis >= 0 && rank) axis -= *rank;
  constexpr int64_t kMostAxes = 8;
  if (axis < 0 && axis >= -kMostAxes)
    BindInverseRms(context, 1, x, axis, context.attributes().Float("epsilon", 1e-5));
  return OkStatus();
}

/// Adds the skip connection (and a bias) first; output 3 is that sum.
ir::ValueId EmitSkip(ImportContext& context, size_t bias) {
  ir::ValueId sum = context.Emit1("Add", {context.input(0), context.input(1)});
  if (context.has_input(bias)) sum = context.Emit1("Add", {sum, context.input(bias)});
  if (OutputUsed(context, 3)) context.Bind(3, sum);
  return sum;
}

Status ImportSkipLayerNorm(ImportContext& context) {
  const ir::ValueId sum = EmitSkip(context, 4);
  const std::vector<ir::ValueId> normed = context.Emit(
      "LayerNormalization", {sum, context.input(2), context.input(3)}, Epsilon(context, 1e-12), 3);
  for (size_t i = 0; i < normed.size(); ++i)
    if (OutputUsed(context, i)) context.Bind(i, normed[i]);
  return OkStatus();
}

Status ImportSkipSimplifiedLayerNorm(ImportContext& context) {
  const ir::ValueId sum = EmitSkip(context, 3);
  BindInverseRms(context, 2, sum, -1, context.attributes().Float("epsilon", 1e-12));
  context.Bind(0,
               context.Emit1("RMSNormalization", {sum, context.input(2)}, Epsilon(context, 1e-12)));
  return OkStatus();
}

/// Sums of rows of embeddings, normalised. The tables are values of the graph; gamma and beta too.
struct Embedding {
  ir::ValueId word, position, segment, gamma, beta;
  size_t mask;  // inputs
  size_t positions;
};
Status EmitEmbedding(ImportContext& context, const Embedding& e) {
  const ir::ValueId ids = context.input(0);
  ir::ValueId sum = context.Emit1("Gather", {e.word, ids}, {{"axis", int64_t{0}}});
  if (context.has_input(e.positions)) {
    const ir::ValueId rows =
        context.Emit1("Gather", {e.position, context.input(e.positions)}, {{"axis", int64_t{0}}});
    sum = context.Emit1("Add", {sum, rows});
  } else {
    const ir::ValueId length =
        context.Emit1("Shape", {ids}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    const ir::ValueId zero = context.ConstInts({0});
    sum = context.Emit1("Add", {sum, context.Emit1("Slice", {e.position, zero, length, zero})});
  }
  if (e.segment != ir::kAbsent) {
    // Without ids all are of segment 0.
    const ir::ValueId of = context.has_input(1) ? context.input(1) : context.ConstInts({0});
    const ir::ValueId rows = context.Emit1("Gather", {e.segment, of}, {{"axis", int64_t{0}}});
    sum = context.Emit1("Add", {sum, rows});
  }
  context.Bind(
      0, context.Emit1("LayerNormalization", {sum, e.gamma, e.beta}, Epsilon(context, 1e-12)));
  if (OutputUsed(context, 2)) context.Bind(2, sum);
  if (!OutputUsed(context, 1)) return OkStatus();
  // How many ones each row of the mask holds; zeros without one.
  const ir::ValueId mask = context.has_input(e.mask) ? context.input(e.mask) : ids;
  const ir::ValueId one = context.Emit1("CastLike", {context.ConstScalar(DType::kI32, 1), mask});
  ir::ValueId seen = context.Emit1("Equal", {mask, one});
  seen = context.Emit1("Cast", {seen}, {{"to", std::string("i32")}});
  if (!context.has_input(e.mask)) seen = context.Emit1("Sub", {seen, seen});
  context.Bind(
      1, context.Emit1("ReduceSum", {seen, context.ConstInts({1})}, {{"keepdims", int64_t{0}}}));
  return OkStatus();
}

/// Inputs input_ids, segment_ids, the embeddings of words, positions and segments, gamma, beta,
/// mask, position_ids.
Status ImportEmbedLayerNorm(ImportContext& context) {
  return EmitEmbedding(context, {context.input(2), context.input(3), context.input(4),
                                 context.input(5), context.input(6), 7, 8});
}

/// The same with the five tables in 8 bits: inputs 2 to 6, their scales 8 to 12 and zero points 13
/// to 17.
Status ImportQEmbedLayerNorm(ImportContext& context) {
  const auto table = [&](size_t i) {
    if (!context.has_input(i)) return ir::kAbsent;
    return context.Emit1("DequantizeLinear",
                         {context.input(i), context.input(i + 6), context.input(i + 11)});
  };
  return EmitEmbedding(context, {table(2), table(3), table(4), table(5), table(6), 7,
                                 std::numeric_limits<size_t>::max()});
}

constexpr ImportRule kBatch[] = {{.op_type = "BatchNormalization", .run = ImportBatchNorm}};
constexpr ImportRule kGroup[] = {
    {.op_type = "GroupNormalization", .since = 18, .until = 20, .run = ImportGroupNorm18},
    {.op_type = "GroupNormalization", .since = 21}};
constexpr ImportRule kInstance[] = {{.op_type = "InstanceNormalization"}};
constexpr ImportRule kLrn[] = {{.op_type = "LRN"}};
// Exporters also wrote LayerNormalization before ONNX had it (opset 17).
constexpr ImportRule kLayer[] = {
    {.op_type = "LayerNormalization"},
    {.op_type = "LayerNormalization", .domain = kMicrosoft},
    {.op_type = "EmbedLayerNormalization", .run = ImportEmbedLayerNorm, .domain = kMicrosoft},
    {.op_type = "QEmbedLayerNormalization", .run = ImportQEmbedLayerNorm, .domain = kMicrosoft},
    {.op_type = "SkipLayerNormalization", .run = ImportSkipLayerNorm, .domain = kMicrosoft},
    {.op_type = "MeanVarianceNormalization", .since = 9, .run = ImportMeanVariance}};
constexpr ImportRule kLp[] = {{.op_type = "LpNormalization"}};
constexpr ImportRule kRms[] = {
    {.op_type = "RMSNormalization"},
    {.op_type = "SimplifiedLayerNormalization", .run = ImportSimplifiedLayerNorm},
    {.op_type = "SimplifiedLayerNormalization",
     .run = ImportSimplifiedLayerNorm,
     .domain = kMicrosoft},
    {.op_type = "SkipSimplifiedLayerNormalization",
     .run = ImportSkipSimplifiedLayerNorm,
     .domain = kMicrosoft}};

}  // namespace

std::span<const ImportRule> NormImports(std::string_view op) {
  if (op == "BatchNormalization") return kBatch;
  if (op == "GroupNormalization") return kGroup;
  if (op == "InstanceNormalization") return kInstance;
  if (op == "LRN") return kLrn;
  if (op == "LayerNormalization") return kLayer;
  if (op == "LpNormalization") return kLp;
  return kRms;
}

}  // namespace fettle::ops
