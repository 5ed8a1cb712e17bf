// The feed-forward part of a decoder's layer: one network, or a mixture of experts.
#include <fmt/format.h>

#include <algorithm>

#include "importers/gguf/decoder_parts.h"

namespace fettle::gguf {

ir::ValueId DecoderParts::Activated(ir::ValueId x) {
  const auto gelu = [&](const char* kind) {
    return Emit("Gelu", {x}, {{"approximate", std::string(kind)}});
  };
  switch (d_.gating.activation) {
    case Activation::kGelu: return gelu("tanh");
    case Activation::kExactGelu: return gelu("none");
    case Activation::kSquaredRelu: x = Emit("Relu", {x}); return Emit("Mul", {x, x});
    case Activation::kXielu: {
      const Xielu& how = layer_->xielu;
      const ir::ValueId above = Scaled(Emit("Mul", {x, x}), how.positive);
      const ir::ValueId low = Emit("Elu", {Emit("Min", {x, Number(how.epsilon)})});
      const ir::ValueId below = Scaled(Emit("Sub", {low, x}), how.negative);
      const ir::ValueId either = Emit("Where", {Emit("Greater", {x, Number(0)}), above, below});
      return Emit("Add", {either, Scaled(x, how.beta)});
    }
    case Activation::kSwish: break;
  }
  ir::Attributes slope;
  if (d_.gating.slope != 1) slope.Set("alpha", d_.gating.slope);
  return Emit("Swish", {x}, std::move(slope));
}

ir::ValueId DecoderParts::Gated(ir::ValueId gate, ir::ValueId value) {
  const Gating& how = d_.gating;
  if (how.limit != 0) {
    gate = Emit("Clip", {gate, ir::kAbsent, Number(how.limit)});
    value = Emit("Clip", {value, Number(-how.limit), Number(how.limit)});
  }
  if (how.shift != 0) value = Emit("Add", {value, Number(how.shift)});
  return Emit("Mul", {Activated(gate), value});
}

Result<ir::ValueId> DecoderParts::Network(const std::string& at, const std::string& end,
                                          int64_t hidden, ir::ValueId x) {
  // Where one matrix holds both, the gate comes first.
  const std::string name = at + "ffn_up" + end, down = at + "ffn_down" + end;
  if (d_.gating.alone) {
    ASSIGN_OR_RETURN(const ir::ValueId value, Product(name, x, d_.width, hidden));
    return Product(down, Activated(value), hidden, d_.width);
  }
  const TensorInfo* both = file_->FindTensor(name + ".weight");
  const bool are_joined = both != nullptr && both->rows == 2 * hidden;
  const Part first =
      are_joined ? Part{name, 0, 2 * hidden} : Part{at + "ffn_gate" + end, 0, hidden};
  const Part second = are_joined ? Part{name, hidden, 2 * hidden} : Part{name, 0, hidden};
  ASSIGN_OR_RETURN(const ir::ValueId gate, PartProduct(first, x, d_.width, hidden));
  ASSIGN_OR_RETURN(const ir::ValueId up, PartProduct(second, x, d_.width, hidden));
  ASSIGN_OR_RETURN(const ir::ValueId gated,
                   SubNorm(at + "ffn_sub_norm" + end, Gated(gate, up), hidden));
  return Product(down, gated, hidden, d_.width);
}

/// Of a router: floats as they are, so that rows do not choose otherwise beside others than alone.
Result<ir::ValueId> DecoderParts::Scores(const std::string& name, ir::ValueId x, int64_t n) {
  ASSIGN_OR_RETURN(const TensorInfo* tensor, Need(name + ".weight", d_.width, n));
  if (tensor->type->bits != 0 && !form_.floats) return Product(name, x, d_.width, n);
  Constant floats = ReadFloats(*tensor, file_, false).Reshaped(Shape{1, n, d_.width});
  const ir::ValueId weights = graph_.AddConstant(tensor->name, std::move(floats));
  const ir::ValueId y = Emit("ExpertMatMul", {x, weights});
  if (file_->FindTensor(name + ".bias") == nullptr) return y;
  ASSIGN_OR_RETURN(const ir::ValueId bias, Vector(name + ".bias", n));
  return Emit("Add", {y, bias});
}

ir::ValueId DecoderParts::OfUsedGroups(const std::string& at, ir::ValueId scores) {
  const Experts& e = d_.experts;
  const int64_t each = e.count / e.groups;
  const ir::Attributes last = {{"axis", int64_t{-1}}};
  const ir::ValueId grouped =
      Emit("Reshape", {scores, Ints(at + "groups", {0, 0, e.groups, each})});
  const ir::ValueId best =
      EmitMany("TopK", {grouped, Ints(at + "best", {std::min<int64_t>(2, each)})}, last, 2)[0];
  const ir::ValueId sums =
      Emit("ReduceSum", {best, Ints(at + "best.axis", {-1})}, {{"keepdims", int64_t{1}}});
  const ir::ValueId used = EmitMany("TopK", {sums, Ints(at + "used_groups", {e.used_groups})},
                                    {{"axis", int64_t{-2}}}, 2)[0];
  const ir::ValueId least =
      Emit("ReduceMin", {used, Ints(at + "used_groups.axis", {-2})}, {{"keepdims", int64_t{1}}});
  constexpr double kFarBelow = -1e30;
  const ir::ValueId chosen =
      Emit("Where", {Emit("Less", {sums, least}), Number(kFarBelow), grouped});
  return Emit("Reshape", {chosen, Ints(at + "ungrouped", {0, 0, -1})});
}

Result<DecoderParts::Choices> DecoderParts::Route(const std::string& at, ir::ValueId x) {
  const Experts& e = d_.experts;
  const ir::Attributes last = {{"axis", int64_t{-1}}};
  ASSIGN_OR_RETURN(const ir::ValueId logits, Scores(at + "ffn_gate_inp", x, e.count));
  std::string bias = at + "exp_probs_b";
  if (file_->FindTensor(bias) == nullptr)
    bias += ".bias";  // files of hy_v3 have it without the end
  const bool has_bias = file_->FindTensor(bias) != nullptr;
  // The softmax of the chosen is that of all, divided by their sum.
  const bool late = !e.sigmoid && e.normalised && !has_bias && e.groups == 1;
  const ir::ValueId scores = late        ? logits
                             : e.sigmoid ? Emit("Sigmoid", {logits})
                                         : Emit("Softmax", {logits}, last);
  ir::ValueId by = scores;
  if (has_bias) {  // for choosing alone
    ASSIGN_OR_RETURN(const ir::ValueId added, Vector(bias, e.count));
    by = Emit("Add", {scores, added});
  }
  if (e.groups > 1) by = OfUsedGroups(at, by);
  const std::vector<ir::ValueId> best =
      EmitMany("TopK", {by, Ints(at + "used", {e.used})}, last, 2);
  Choices choices{best[1], best[0]};
  if (has_bias) choices.counts = Emit("GatherElements", {scores, best[1]}, last);
  if (late) {
    choices.counts = Emit("Softmax", {choices.counts}, last);
  } else if (e.normalised) {
    const ir::ValueId sum =
        Emit("ReduceSum", {choices.counts, Ints(at + "last", {-1})}, {{"keepdims", int64_t{1}}});
    choices.counts = Emit("Div", {choices.counts, sum});
  }
  choices.counts = Scaled(choices.counts, e.scale);
  return choices;
}

Result<ir::ValueId> DecoderParts::ExpertBias(const std::string& name, const Choices& choices,
                                             int64_t n, bool sums) {
  ASSIGN_OR_RETURN(const TensorInfo* tensor, Need(name + ".bias", n, d_.experts.count));
  const ir::ValueId rows = graph_.AddConstant(tensor->name, ReadFloats(*tensor, file_, false));
  const ir::ValueId bias = Emit("Gather", {rows, choices.chosen}, {{"axis", int64_t{0}}});
  if (!sums) return bias;
  const ir::ValueId as_column = Ints(name + ".column", {0, 0, -1, 1});
  const ir::ValueId counts = Emit("Reshape", {choices.counts, as_column});
  return Emit("ReduceSum", {Emit("Mul", {bias, counts}), Ints(name + ".axis", {-2})},
              {{"keepdims", int64_t{0}}});
}

Result<ir::ValueId> DecoderParts::ExpertProduct(const std::string& name, const Choices& choices,
                                                ir::ValueId x, int64_t k, int64_t n, bool sums) {
  ASSIGN_OR_RETURN(const ir::ValueId y, MatrixEach(name, d_.experts.count, choices.chosen, x, k, n,
                                                   sums ? choices.counts : ir::kAbsent));
  if (file_->FindTensor(name + ".bias") == nullptr) return y;
  ASSIGN_OR_RETURN(const ir::ValueId bias, ExpertBias(name, choices, n, sums));
  return Emit("Add", {y, bias});
}

Result<ir::ValueId> DecoderParts::ExpertsGated(const std::string& at, const Choices& choices,
                                               ir::ValueId x) {
  const int64_t hidden = d_.experts.hidden;
  if (d_.gating.alone) {
    ASSIGN_OR_RETURN(const ir::ValueId value,
                     ExpertProduct(at + "ffn_up_exps", choices, x, d_.width, hidden, false));
    return Activated(value);
  }
  const std::string both = at + "ffn_gate_up_exps";
  if (file_->FindTensor(both + ".weight") != nullptr) {
    ASSIGN_OR_RETURN(const ir::ValueId y,
                     ExpertProduct(both, choices, x, d_.width, 2 * hidden, false));
    const std::vector<ir::ValueId> halves = EmitMany(
        "Split", {y, Ints(both + ".halves", {hidden, hidden})}, {{"axis", int64_t{-1}}}, 2);
    return Gated(halves[0], halves[1]);
  }
  ASSIGN_OR_RETURN(const ir::ValueId gate,
                   ExpertProduct(at + "ffn_gate_exps", choices, x, d_.width, hidden, false));
  ASSIGN_OR_RETURN(const ir::ValueId up,
                   ExpertProduct(at + "ffn_up_exps", choices, x, d_.width, hidden, false));
  return Gated(gate, up);
}

Result<ir::ValueId> DecoderParts::Mixture(const std::string& at, ir::ValueId x) {
  const Experts& e = d_.experts;
  ASSIGN_OR_RETURN(const Choices choices, Route(at, x));
  ir::ValueId rows = x;
  if (e.scores_first) {  // one for each choice
    rows = Emit("Mul", {Emit("Reshape", {x, Ints(at + "rows", {0, 0, 1, d_.width})}),
                        Emit("Reshape", {choices.counts, Ints(at + "scores", {0, 0, e.used, 1})})});
  }
  ASSIGN_OR_RETURN(const ir::ValueId gated, ExpertsGated(at, choices, rows));
  ASSIGN_OR_RETURN(ir::ValueId y, ExpertProduct(at + "ffn_down_exps", choices, gated, e.hidden,
                                                d_.width, !e.scores_first));
  if (e.scores_first)
    y = Emit("ReduceSum", {y, Ints(at + "choices", {-2})}, {{"keepdims", int64_t{0}}});
  if (e.shared_hidden == 0) return y;
  ASSIGN_OR_RETURN(ir::ValueId shared, Network(at, "_shexp", e.shared_hidden, x));
  const std::string weight = at + "ffn_gate_inp_shexp";
  if (file_->FindTensor(weight + ".weight") != nullptr) {
    ASSIGN_OR_RETURN(const ir::ValueId counts, Scores(weight, x, 1));
    shared = Emit("Mul", {shared, Emit("Sigmoid", {counts})});
  }
  return Emit("Add", {y, shared});
}

}  // namespace fettle::gguf
