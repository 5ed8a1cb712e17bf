// com.microsoft.MoE and QMoE: each row goes through the few experts, networks of two layers, that
// its router likes best. All experts are computed, as products over all of them at once, and those
// that a row did not choose count nothing.
#include <string>
#include <vector>

#include "ops/import.h"
#include "ops/matmul/experts.h"
#include "ops/matmul/onnx.h"

namespace fettle::ops {
namespace {

/// The layers of a node: into the experts, out of them, and the values beside the gates.
struct ExpertNode {
  ExpertLayer into, out_of, values;
  size_t weights = 0;  // input with what the chosen count, where it is not the router's; 0: none
};

constexpr ExpertNode kFloatExperts = {
    {.weights = 2, .bias = 3}, {.weights = 4, .bias = 5}, {.weights = 6, .bias = 7}, 0};
constexpr ExpertNode kQuantisedExperts = {{.weights = 2, .scales = 3, .zeros = 11, .bias = 4},
                                          {.weights = 5, .scales = 6, .zeros = 12, .bias = 7},
                                          {.weights = 8, .scales = 9, .zeros = 13, .bias = 10},
                                          14};

Result<ExpertSizes> ReadSizes(const ImportContext& context, const ExpertNode& node,
                              bool quantised) {
  const ir::Attributes& from = context.attributes();
  ASSIGN_OR_RETURN(const Constant into, ConstantAt(context, node.into.weights, "weights"));
  ASSIGN_OR_RETURN(const Constant out_of, ConstantAt(context, node.out_of.weights, "weights"));
  const Shape &in = into.shape(), &out = out_of.shape();
  if (in.rank() != 3 || out.rank() != 3 || in.elements() == 0 || out.elements() == 0 ||
      in[0] != out[0])
    return InvalidModel("weights {} and {} of experts", in.ToString(), out.ToString());
  ExpertSizes sizes = {.experts = in[0], .hidden = out[1], .inter = out[2]};
  if (quantised) {
    sizes.bits = from.Int("expert_weight_bits", 4);
    sizes.block = from.Int("block_size", 0);
    if (sizes.bits != 2 && sizes.bits != 4 && sizes.bits != 8)
      return Unsupported("attribute 'expert_weight_bits': expected 2|4|8, got {}", sizes.bits);
    constexpr int64_t kMostBlock = int64_t{1} << 30;
    if (sizes.block < 0 || sizes.block > kMostBlock)
      return InvalidModel("attribute 'block_size': {} is out of range", sizes.block);
    sizes.inter *= 8 / sizes.bits;
  }
  if (from.Int("use_sparse_mixer", 0) != 0)
    return Unsupported("attribute 'use_sparse_mixer' is not supported");
  return sizes;
}

ir::ValueId LikeConstant(ImportContext& context, double value, ir::ValueId like) {
  return context.Emit1("CastLike", {context.ConstScalar(DType::kF32, value), like});
}

/// What each expert counts for each row, [rows, experts]: 0 where it was not chosen.
ir::ValueId EmitRouting(ImportContext& context, const ExpertNode& node, const ExpertSizes& sizes,
                        int64_t k) {
  const ir::ValueId router = context.input(1);
  const bool own = node.weights != 0 && context.has_input(node.weights);
  const bool normalise = context.attributes().Int("normalize_routing_weights", 0) != 0;
  const ir::Attributes last = {{"axis", int64_t{-1}}};
  const auto softmax = [&](ir::ValueId x) { return context.Emit1("Softmax", {x}, last); };
  // QMoE always makes those of the chosen 1 together, which a softmax of them alone does.
  const ir::ValueId probabilities = sizes.bits == 0 ? softmax(router) : router;
  const std::vector<ir::ValueId> best =
      context.Emit("TopK", {probabilities, context.ConstInts({k})}, last, 2);
  ir::ValueId counts = best[0];
  if (own)
    counts = context.Emit1("GatherElements", {context.input(node.weights), best[1]}, last);
  else if (sizes.bits != 0)
    counts = softmax(counts);
  if (normalise && (own || sizes.bits == 0)) {
    const ir::ValueId sum =
        context.Emit1("ReduceSum", {counts, context.ConstInts({-1})}, {{"keepdims", int64_t{1}}});
    counts = context.Emit1("Div", {counts, sum});
  }
  const ir::ValueId zeros =
      context.Emit1("Expand", {LikeConstant(context, 0, router), context.Emit1("Shape", {router})});
  return context.Emit1("ScatterElements", {zeros, best[1], counts}, last);
}

/// gate * sigmoid(alpha * gate) * (value + beta), both bounded.
ir::ValueId EmitSwiGlu(ImportContext& context, ir::ValueId gate, ir::ValueId value) {
  const ir::Attributes& from = context.attributes();
  if (from.Has("swiglu_limit")) {
    const ir::ValueId most = LikeConstant(context, from.Float("swiglu_limit"), gate);
    const ir::ValueId least = LikeConstant(context, -from.Float("swiglu_limit"), gate);
    gate = context.Emit1("Min", {gate, most});
    value = context.Emit1("Clip", {value, least, most});
  }
  const double beta = from.Float("activation_beta", 0);
  if (beta != 0) value = context.Emit1("Add", {value, LikeConstant(context, beta, value)});
  const ir::ValueId swish =
      context.Emit1("Swish", {gate}, {{"alpha", from.Float("activation_alpha", 1)}});
  return context.Emit1("Mul", {swish, value});
}

/// [rows, experts * inter] of what the first layers gave.
Result<ir::ValueId> EmitActivation(ImportContext& context, const std::string& name,
                                   const ExpertSizes& sizes, ir::ValueId h, ir::ValueId values) {
  if (name == "swiglu") {
    if (values != ir::kAbsent) return EmitSwiGlu(context, h, values);
    const ir::ValueId all = context.ConstInts({-1, sizes.experts * sizes.inter});
    const ir::ValueId pairs =
        context.Emit1("Reshape", {h, context.ConstInts({-1, sizes.experts * sizes.inter, 2})});
    const std::vector<ir::ValueId> parts =
        context.Emit("Split", {pairs, context.ConstInts({1, 1})}, {{"axis", int64_t{2}}}, 2);
    return EmitSwiGlu(context, context.Emit1("Reshape", {parts[0], all}),
                      context.Emit1("Reshape", {parts[1], all}));
  }
  ir::ValueId y = h;
  if (name == "relu")
    y = context.Emit1("Relu", {h});
  else if (name == "gelu")
    y = context.Emit1("Gelu", {h}, {{"approximate", std::string("tanh")}});
  else if (name == "silu")
    y = context.Emit1("Swish", {h});
  else if (name != "identity")
    return Unsupported("attribute 'activation_type': '{}' is not supported", name);
  return values == ir::kAbsent ? y : context.Emit1("Mul", {y, values});
}

/// h [rows, experts * inter] by what its expert counts; 0, whatever it is, where that is 0.
ir::ValueId EmitCounted(ImportContext& context, const ExpertSizes& sizes, ir::ValueId h,
                        ir::ValueId counts) {
  const ir::ValueId split =
      context.Emit1("Reshape", {h, context.ConstInts({-1, sizes.experts, sizes.inter})});
  const ir::ValueId by =
      context.Emit1("Reshape", {counts, context.ConstInts({-1, sizes.experts, 1})});
  const ir::ValueId zero = LikeConstant(context, 0, h);
  const ir::ValueId left_out = context.Emit1("Equal", {by, zero});
  const ir::ValueId counted =
      context.Emit1("Where", {left_out, zero, context.Emit1("Mul", {split, by})});
  return context.Emit1("Reshape", {counted, context.ConstInts({-1, sizes.experts * sizes.inter})});
}

Status ImportExperts(ImportContext& context, const ExpertNode& node, bool quantised) {
  ASSIGN_OR_RETURN(const ExpertSizes sizes, ReadSizes(context, node, quantised));
  const ir::Attributes& from = context.attributes();
  const int64_t k = from.Int("k", 1), fusion = from.Int("swiglu_fusion", 0);
  if (k < 1 || k > sizes.experts)
    return InvalidModel("attribute 'k': {} of {} experts", k, sizes.experts);
  const std::string activation = from.Text("activation_type", "relu");
  const bool has_values = context.has_input(node.values.weights);
  const bool pairs = activation == "swiglu" && !has_values;
  if (pairs && fusion != 1)
    return Unsupported(
        "attribute 'swiglu_fusion': expected 1 (gates and values interleaved), got {}", fusion);
  const ir::ValueId rows =
      context.Emit1("Reshape", {context.input(0), context.ConstInts({-1, sizes.hidden})});
  ASSIGN_OR_RETURN(const ir::ValueId h,
                   EmitInto(context, sizes, node.into, rows, (pairs ? 2 : 1) * sizes.inter));
  ir::ValueId values = ir::kAbsent;
  if (has_values) {
    ASSIGN_OR_RETURN(values, EmitInto(context, sizes, node.values, rows, sizes.inter));
  }
  ASSIGN_OR_RETURN(const ir::ValueId active, EmitActivation(context, activation, sizes, h, values));
  const ir::ValueId counts = EmitRouting(context, node, sizes, k);
  ASSIGN_OR_RETURN(ir::ValueId y, EmitOutOf(context, sizes, node.out_of,
                                            EmitCounted(context, sizes, active, counts)));
  if (context.has_input(node.out_of.bias))
    y = context.Emit1("Add",
                      {y, context.Emit1("MatMul", {counts, context.input(node.out_of.bias)})});
  context.Bind(0, context.Emit1("Reshape", {y, context.Emit1("Shape", {context.input(0)})},
                                {{"allowzero", int64_t{1}}}));
  return OkStatus();
}

}  // namespace

Status ImportMoE(ImportContext& context) { return ImportExperts(context, kFloatExperts, false); }
Status ImportQMoE(ImportContext& context) {
  return ImportExperts(context, kQuantisedExperts, true);
}

}  // namespace fettle::ops
