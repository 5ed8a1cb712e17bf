#include "ops/state/op.h"

#include <cmath>
#include <limits>
#include <string>

#include "ops/import.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {

Status CausalConvReference(const RefContext& context, const Region& region);
Status LinearAttentionReference(const RefContext& context, const Region& region);
Status InferSlotConv(InferContext& context);
Status InferSlotScan(InferContext& context);
int64_t SlotConvMacs(const ir::Node& node, std::span<const Shape> inputs, std::span<const Shape>);
int64_t SlotScanMacs(const ir::Node& node, std::span<const Shape> inputs, std::span<const Shape>);
Status SlotConvReference(const RefContext& context, const Region& region);
Status SlotScanReference(const RefContext& context, const Region& region);

namespace {

Status InferCausalConv(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 4, kFloatTypes));
  ASSIGN_OR_RETURN(const CausalConvAttributes conv,
                   ReadCausalConv(context.node(), context.shape(0), context.shape(1)));
  const Shape state = {conv.batch, conv.channels, conv.taps - 1};
  if (context.has_input(2) && context.shape(2) != Shape{conv.channels})
    return InvalidModel("input 'bias': {} does not fit {} channels", context.shape(2).ToString(),
                        conv.channels);
  if (context.has_input(3) && context.shape(3) != state)
    return InvalidModel("input 'past_state': expected {}, got {}", state.ToString(),
                        context.shape(3).ToString());
  context.SetOutput(0, context.dtype(0), context.shape(0));
  context.SetOutput(1, context.dtype(0), state);
  return OkStatus();
}

int64_t CausalConvMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  return inputs[0].elements() * inputs[1][2];
}

Status CheckGates(const InferContext& context, const LinearAttentionAttributes& a) {
  if (context.has_input(4) != a.gated)
    return InvalidModel("input 'decay' is for the gated rules only");
  if (context.has_input(5) != a.delta)
    return InvalidModel("input 'beta' is for the delta rules only");
  const Shape per_head = {a.batch, a.length, a.kv_heads};
  if (a.gated && context.shape(4) != per_head &&
      context.shape(4) != Shape{a.batch, a.length, a.kv_heads * a.size})
    return InvalidModel("input 'decay': {} does not fit", context.shape(4).ToString());
  if (a.delta && context.shape(5) != per_head && context.shape(5) != Shape{a.batch, a.length, 1})
    return InvalidModel("input 'beta': {} does not fit", context.shape(5).ToString());
  return OkStatus();
}

Status InferLinearAttention(InferContext& context) {
  for (int i = 0; i < 6; ++i) RETURN_IF_ERROR(CheckType(context, i, kFloatTypes));
  ASSIGN_OR_RETURN(
      const LinearAttentionAttributes a,
      ReadLinearAttention(context.node(), context.shape(0), context.shape(1), context.shape(2)));
  RETURN_IF_ERROR(CheckGates(context, a));
  const Shape state = {a.batch, a.kv_heads, a.size, a.v_size};
  if (context.has_input(3) && context.shape(3) != state)
    return InvalidModel("input 'past_state': expected {}, got {}", state.ToString(),
                        context.shape(3).ToString());
  context.SetOutput(0, context.dtype(0), Shape{a.batch, a.length, a.q_heads * a.v_size});
  context.SetOutput(1, context.dtype(context.has_input(3) ? 3 : 0), state);
  return OkStatus();
}

/// Three passes over a state at each step: what it holds for the key, the update, the query.
int64_t LinearAttentionMacs(const ir::Node& node, std::span<const Shape> inputs,
                            std::span<const Shape>) {
  const auto a = ReadLinearAttention(node, inputs[0], inputs[1], inputs[2]);
  if (!a.ok()) return 0;
  return a->batch * a->length * a->size * a->v_size * (2 * a->kv_heads + a->q_heads);
}

/// With constant weights an ordinary depth-wise convolution, which has fast kernels; otherwise the
/// number of its groups is not known here.
Status ImportCausalConv(ImportContext& context) {
  const Constant* weights = context.constant(1);
  const std::string activation = context.attributes().Text("activation", "none");
  const bool known = activation == "none" || activation == "silu" || activation == "swish";
  const bool fits = weights != nullptr && weights->shape().rank() == 3 && weights->shape()[2] >= 1;
  // A state of no elements is only looked at.
  if (!known || !fits || (weights->shape()[2] == 1 && context.has_input(3))) {
    context.Copy("CausalConvWithState", context.attributes());
    return OkStatus();
  }
  const int64_t past = weights->shape()[2] - 1;
  ir::ValueId padded = context.input(0);
  if (context.has_input(3)) {
    // States of other lengths are refused here.
    const ir::ValueId state =
        context.Emit1("Reshape", {context.input(3), context.ConstInts({0, 0, past})});
    padded = context.Emit1("Concat", {state, padded}, {{"axis", int64_t{2}}});
  } else if (past > 0) {
    padded = context.Emit1("Pad", {padded, context.ConstInts({0, 0, past, 0, 0, 0})});
  }
  ir::ValueId y = context.Emit1("Conv", {padded, context.input(1), context.input(2)},
                                {{"group", weights->shape()[0]}});
  if (activation != "none") y = context.Emit1("Swish", {y}, {{"alpha", 1.0}});
  context.Bind(0, y);
  if (context.num_outputs() < 2 || context.node().outputs[1].empty()) return OkStatus();
  // The last `past` of past + length elements: a start of -0 would take all.
  const ir::ValueId length = context.Emit1("Shape", {context.input(0)}, {{"start", int64_t{2}}});
  context.Bind(1, context.Emit1("Slice", {padded, length,
                                          context.ConstInts({std::numeric_limits<int64_t>::max()}),
                                          context.ConstInts({2})}));
  return OkStatus();
}

constexpr ImportRule kCausalConvImports[] = {
    {.op_type = "CausalConvWithState", .since = 27, .run = ImportCausalConv}};
constexpr ImportRule kLinearAttentionImports[] = {{.op_type = "LinearAttention", .since = 27}};

}  // namespace

Result<CausalConvAttributes> ReadCausalConv(const ir::Node& node, const Shape& x, const Shape& w) {
  if (x.rank() != 3 || w.rank() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1)
    return InvalidModel("weights {} do not fit the input {}", w.ToString(), x.ToString());
  const std::string activation = node.attributes.Text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return InvalidModel("attribute 'activation': expected none|silu|swish, got '{}'", activation);
  return CausalConvAttributes{x[0], x[1], x[2], w[2], activation != "none"};
}

Result<LinearAttentionAttributes> ReadLinearAttention(const ir::Node& node, const Shape& q,
                                                      const Shape& k, const Shape& v) {
  LinearAttentionAttributes a;
  ASSIGN_OR_RETURN(static_cast<GroupedHeads&>(a),
                   ReadGroupedHeads(node, node.attributes.Int("q_num_heads", 0),
                                    node.attributes.Int("kv_num_heads", 0), q, k, v));
  const std::string rule = node.attributes.Text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return InvalidModel(
        "attribute 'update_rule': expected linear|gated|delta|gated_delta, got "
        "'{}'",
        rule);
  a.gated = rule.starts_with("gated");
  a.delta = rule.ends_with("delta");
  return a;
}

std::span<const Operator> StateOps() {
  static const Operator kOps[] = {
      {{.name = "CausalConvWithState",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 2,
        .max_inputs = 4,
        .max_outputs = 2},
       {.infer = InferCausalConv,
        .reference = CausalConvReference,
        .macs = CausalConvMacs,
        .imports = kCausalConvImports}},
      {{.name = "LinearAttention",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 3,
        .max_inputs = 6,
        .max_outputs = 2},
       {.infer = InferLinearAttention,
        .reference = LinearAttentionReference,
        .macs = LinearAttentionMacs,
        .imports = kLinearAttentionImports}},
      {{.name = "SlotConv",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 4,
        .max_inputs = 5,
        .max_outputs = 2},
       {.infer = InferSlotConv, .reference = SlotConvReference, .macs = SlotConvMacs}},
      {{.name = "SlotScan",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 5,
        .max_inputs = 8,
        .max_outputs = 2},
       {.infer = InferSlotScan, .reference = SlotScanReference, .macs = SlotScanMacs}},
  };
  return kOps;
}

}  // namespace fettle::ops
