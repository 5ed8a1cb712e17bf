#include "passes/pipeline.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/binary/binarise.h"
#include "passes/clean/common_subexpressions.h"
#include "passes/clean/dead_code.h"
#include "passes/clean/identities.h"
#include "passes/clean/inline_if.h"
#include "passes/conv/dead_taps.h"
#include "passes/conv/flip_transposes.h"
#include "passes/conv/fold_affine.h"
#include "passes/conv/fold_pads.h"
#include "passes/conv/transposed_columns.h"
#include "passes/conv/transposed_lines.h"
#include "passes/find/channel_shuffle.h"
#include "passes/find/gelu.h"
#include "passes/find/group_norm.h"
#include "passes/find/hard_activations.h"
#include "passes/find/layer_norm.h"
#include "passes/find/prelu.h"
#include "passes/find/safe_softmax.h"
#include "passes/find/summed_product.h"
#include "passes/find/swish.h"
#include "passes/find/turned_scores.h"
#include "passes/find/unrolled_rnn.h"
#include "passes/quantise/byte_moves.h"
#include "passes/quantise/byte_tables.h"
#include "passes/quantise/computed_filters.h"
#include "passes/quantise/constants_in_floats.h"
#include "passes/quantise/fold_weights.h"
#include "passes/quantise/implied_clamps.h"
#include "passes/quantise/split_dequantize.h"
#include "passes/rewrite/bias_apart.h"
#include "passes/rewrite/blocked_scales.h"
#include "passes/rewrite/constant_left.h"
#include "passes/rewrite/gather_slices.h"
#include "passes/rewrite/growing_concats.h"
#include "passes/rewrite/index_boxes.h"
#include "passes/rewrite/late_expands.h"
#include "passes/rewrite/matmul_reshapes.h"
#include "passes/rewrite/outer_products.h"
#include "passes/rewrite/reshapes.h"
#include "passes/rewrite/residual_reshapes.h"
#include "passes/rewrite/scores_by_head.h"
#include "passes/rewrite/spell_attention.h"
#include "passes/rewrite/spell_doubles.h"
#include "passes/rewrite/spell_einsum.h"
#include "passes/rewrite/spell_nearest.h"
#include "passes/rewrite/spell_norm_pools.h"
#include "passes/rewrite/spell_rotary.h"
#include "passes/rewrite/spell_typed.h"
#include "passes/rewrite/sums.h"
#include "passes/rewrite/transposes.h"
#include "passes/rewrite/unfolds.h"
#include "passes/rewrite/windows.h"

namespace fettle::passes {
namespace {

constexpr Pass kPasses[] = {
    {"identities", RemoveIdentities},
    {"dead_code", RemoveDeadCode},
    {"common_subexpressions", MergeCommonSubexpressions},
    {"constants_in_floats", DequantiseConstants, true},
    {"implied_clamps", DropImpliedClamps},
    {"byte_moves", MoveBytes},
    {"byte_tables", MakeByteTables},
    {"sums", SumToAdd},
    {"safe_softmax", FindSafeSoftmax},
    {"scores_by_head", ScaleQueriesByHead, true},
    {"turned_scores", FindTurnedScores, true},
    {"blocked_scales", SplitBlockedScales, true},
    {"attention", SpellAttention, true},
    {"summed_products", FindSummedProducts, true},
    {"einsum", SpellEinsum, true},
    {"rotary", SpellRotary, true},
    {"doubles", SpellDoubles, true},
    {"typed", SpellTyped, true},
    {"nearest", SpellNearest, true},
    {"norm_pools", SpellNormPools, true},
    {"bias_apart", AddBiasApart, true},
    {"computed_filters", SpellComputedFilters, true},
    {"constant_left", SwapConstantLeft, true},
    {"unrolled_rnn", FindUnrolledRnn, true},
    {"outer_products", OuterProductsToMul, true},
    {"late_expands", DropExpandsBeforeBroadcasts, true},
    {"transposed_lines", SpellTransposedLines, true},
    {"index_boxes", IndexBoxes, true},
    {"unfolds", UnfoldsToTransposes, true},
    {"transposes", MergeTransposes},
    {"cancelled_moves", CancelMoves},
    {"channel_shuffle", FindChannelShuffle},
    {"selects", TransposeBeforeSelects},
    {"gather_slices", GatherToSlice},
    {"growing_concats", ShareGrowingConcats},
    {"windows", MergeWindows},
    {"matmul_reshapes", MoveReshapesBeforeMatMul},
    {"reshapes", MergeReshapes},
    {"residual_reshapes", MoveReshapesBehindSums},
    {"flip_transposes", FlipTransposes, true},
    {"fold_pads", FoldPads},
    {"binary", Binarise, true},
    {"prelu", FindPRelu},
    {"gelu", FindGelu},
    {"hard_sigmoid", FindHardSigmoid},
    {"hard_swish", FindHardSwish},
    {"swish", FindSwish},
    {"layer_norm", FindLayerNorm},
    {"group_norm", FindGroupNorm},
    {"fold_weights", FoldWeights, true},
    {"fold_affine", FoldAffine, true},
    {"transposed_columns", SpellTransposedColumns, true},
    {"last_identities", RemoveIdentities},
    {"split_dequantize", SplitDequantize},
    {"last_fold_weights", FoldWeights},
    {"dead_taps", CutDeadTaps, true},
};

/// Deeper sub-graphs are left as they are.
constexpr int kMaxSubGraphDepth = 32;

Status Check(const ir::Graph& graph, std::string_view pass, const PipelineOptions& options) {
  if (!options.verify) return OkStatus();
  const Status status = ir::Verify(graph);
  return status.ok() ? status : status.WithContext(fmt::format("after pass '{}'", pass));
}

/// Whether inference says of all values what passes have left them as.
Status CheckShapes(const ir::Graph& graph) {
  for (ir::NodeId id : graph.nodes().ids()) {
    const ir::Node& node = graph.node(id);
    const bool has_inputs = std::ranges::all_of(node.inputs, [&](ir::ValueId value) {
      return value == ir::kAbsent || graph.value(value).has_concrete_shape();
    });
    if (node.op->Has(ir::Trait::kControl) || !has_inputs) continue;
    ASSIGN_OR_RETURN(const ops::Inferred inferred, ops::Infer(graph, node));
    for (size_t i = 0; i < node.outputs.size() && inferred.needed_input < 0; ++i) {
      if (node.outputs[i] == ir::kAbsent) continue;
      const ir::Value& value = graph.value(node.outputs[i]);
      if (value.has_concrete_shape() && *value.shape != inferred.outputs[i].shape)
        return Error(StatusCode::kInternal, "{}: a pass left the shape {}, which is {}",
                     ir::Describe(node), value.shape->ToString(),
                     inferred.outputs[i].shape.ToString());
    }
  }
  return OkStatus();
}

Status OptimiseAt(ir::Graph& graph, const PipelineOptions& options, int depth);

/// Sub-graphs are shared and immutable: each is copied, rewritten, and put in place of itself.
Status OptimiseSubGraphs(ir::Graph& graph, const PipelineOptions& options, int depth) {
  for (ir::NodeId id : graph.nodes().ids()) {
    const auto items = graph.node(id).attributes.items();
    for (const auto& [name, attribute] : items) {
      const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&attribute);
      if (body == nullptr || *body == nullptr) continue;
      ir::Graph copy = **body;
      for (ir::ValueId input : copy.inputs) copy.value(input).shape.reset();
      const Status status = OptimiseAt(copy, options, depth + 1);
      if (!status.ok()) return status.WithContext(ir::Describe(graph.node(id)));
      graph.node(id).attributes.Set(name, std::make_shared<const ir::Graph>(std::move(copy)));
    }
  }
  return OkStatus();
}

Status OptimiseAt(ir::Graph& graph, const PipelineOptions& options, int depth) {
  RETURN_IF_ERROR(SweepAll(graph, options).status());
  if (depth < kMaxSubGraphDepth) RETURN_IF_ERROR(OptimiseSubGraphs(graph, options, depth));
  RETURN_IF_ERROR(RunPasses(graph, options));
  RETURN_IF_ERROR(SweepAll(graph, options).status());
  RETURN_IF_ERROR(RemoveDeadCode(graph).status());
  return Check(graph, "last dead_code", options);
}

}  // namespace

std::span<const Pass> Passes() { return kPasses; }

std::vector<bool> LoweringPasses() {
  std::vector<bool> lowering;
  for (const Pass& pass : kPasses) lowering.push_back(pass.lowers);
  return lowering;
}

Result<std::vector<Pending>> SweepAll(ir::Graph& graph, const PipelineOptions& options,
                                      bool trusts_shapes) {
  while (true) {
    if (trusts_shapes && options.verify) RETURN_IF_ERROR(CheckShapes(graph));
    ASSIGN_OR_RETURN(std::vector<Pending> pending, Sweep(graph, trusts_shapes));
    trusts_shapes = false;
    RETURN_IF_ERROR(Check(graph, "sweep", options));
    ASSIGN_OR_RETURN(const bool inlined, InlineConstantIf(graph));
    if (!inlined) return pending;
    RETURN_IF_ERROR(Check(graph, "inline_if", options));
  }
}

Status RunPasses(ir::Graph& graph, const PipelineOptions& options) {
  for (size_t i = 0; i < std::size(kPasses); ++i) {
    if (!options.chosen.empty() && !options.chosen[i]) continue;
    ASSIGN_OR_RETURN(const bool changed, kPasses[i].run(graph));
    RETURN_IF_ERROR(Check(graph, kPasses[i].name, options));
    if (!changed || options.fired == nullptr) continue;
    options.fired->resize(std::size(kPasses));
    ++(*options.fired)[i];
  }
  return OkStatus();
}

Status Optimise(ir::Graph& graph, const PipelineOptions& options) {
  RETURN_IF_ERROR(graph.Normalise());
  std::vector<std::optional<Shape>> declared;
  for (ir::ValueId id : graph.outputs) declared.push_back(graph.value(id).shape);
  RETURN_IF_ERROR(OptimiseAt(graph, options, 0));
  // What the model says of its outputs stays where inference knows no better.
  for (size_t i = 0; i < declared.size(); ++i) {
    std::optional<Shape>& shape = graph.value(graph.outputs[i]).shape;
    if (!shape) shape = declared[i];
  }
  return OkStatus();
}

Result<bool> OptimiseTyped(ir::Graph& graph, const PipelineOptions& options) {
  std::vector<int> fired;
  RETURN_IF_ERROR(RunPasses(graph, {.verify = options.verify, .fired = &fired}));
  ASSIGN_OR_RETURN(const bool removed, RemoveDeadCode(graph));
  return removed || !fired.empty();
}

}  // namespace fettle::passes
