#include "passes/binary/two_valued.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/binary/bounds.h"
#include "passes/edit/constants.h"
#include "passes/edit/pads.h"

namespace fettle::passes {
namespace {

bool IsDecision(const ir::Node& node) {
  return node.op == "Greater"_op || node.op == "GreaterOrEqual"_op || node.op == "Less"_op ||
         node.op == "LessOrEqual"_op || node.op == "Equal"_op || node.op == "IsNaN"_op ||
         node.op == "IsInf"_op || node.op == "And"_op || node.op == "Or"_op || node.op == "Xor"_op;
}
/// What may leave two values of many.
bool IsStep(const ir::Node& node) {
  return node.op == "Sign"_op || node.op == "Round"_op || node.op == "Floor"_op ||
         node.op == "Ceil"_op;
}

std::optional<TwoValued> PairAt(ir::ValueId root, DType dtype, double low, double high) {
  const Result<Constant> pair = ConstantFrom(dtype, Shape{2}, {low, high});
  if (!pair.ok()) return std::nullopt;
  const Result<Tensor> tensor = pair->ToTensor();
  return tensor.ok() ? std::optional<TwoValued>({root, *tensor}) : std::nullopt;
}

/// "Sign 'name'".
std::string NameOf(const ir::Node& node) {
  return node.name.empty() ? fmt::format("{}", node.op)
                           : fmt::format("{} '{}'", node.op, node.name);
}

/// Whether constants do not spread the computed operands.
bool KeepsShapeOf(const ir::Graph& graph, const ir::Node& node) {
  ir::ValueId computed = ir::kAbsent;
  for (ir::ValueId id : node.inputs) {
    if (id != ir::kAbsent && !graph.value(id).is_constant()) computed = id;
  }
  return computed != ir::kAbsent &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
           const Constant* constant = ConstantOf(graph, id);
           return constant == nullptr ||
                  (constant->elements() == 1 && constant->shape().rank() <= 1) ||
                  KeepsShape(graph, *constant, computed);
         });
}

/// A constant that is one number, as that.
std::optional<Tensor> NumberOf(const Constant& constant) {
  const std::optional<double> number = UniformValue(constant);
  if (!number) return std::nullopt;
  const Result<Constant> one = ConstantFrom(constant.dtype(), Shape(), {*number});
  if (!one.ok()) return std::nullopt;
  const Result<Tensor> tensor = one->ToTensor();
  return tensor.ok() ? std::optional<Tensor>(*tensor) : std::nullopt;
}

}  // namespace

TwoValuedAnalysis::TwoValuedAnalysis(const ir::Graph& graph)
    : graph_(graph), producers_(graph.Producers()) {
  facts_.resize(graph.values().size());
  products_.resize(graph.nodes().size());
  why_.resize(graph.nodes().size());
  for (ir::NodeId id : graph.nodes().ids()) {
    if (!graph.node(id).dead) Visit(id);
  }
}

const TwoValuedAnalysis::Fact& TwoValuedAnalysis::Get(ir::ValueId id) const {
  static const Fact kNothing;
  return id < 0 || id >= static_cast<ir::ValueId>(facts_.size()) ? kNothing : facts_[id];
}

void TwoValuedAnalysis::Visit(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  if (IsProduct(node)) return VisitProduct(id);
  if (node.outputs.empty() || node.outputs[0] == ir::kAbsent) return;
  Fact fact;
  fact.two = Compute(node);
  if (!fact.two) fact.two = Move(node);
  if (!fact.two && IsDecision(node)) fact.two = PairAt(node.outputs[0], DType::kBool, 0, 1);
  if (!fact.two && IsStep(node)) fact.two = StepBetween(node);
  if (const ir::ValueId sign = SkipEstimator(graph_, producers_, node.outputs[0]);
      !fact.two && sign != node.outputs[0] && Find(sign) != nullptr)
    fact.two = *Find(sign);
  FollowSums(node, id, fact);
  if (!fact.two && fact.why.empty()) fact.why = Reason(node);
  facts_[node.outputs[0]] = std::move(fact);
}

void TwoValuedAnalysis::VisitProduct(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  const ir::ValueId x = ProductInput(node);
  const TwoValued* two = Find(x);
  if (two == nullptr && VisitMasked(id)) return;
  if (two == nullptr || two->low() == two->high()) {
    const std::string& why = Get(x).why;
    why_[id] = fmt::format("its input is not two-valued: {}",
                           !why.empty()                    ? why
                           : graph_.value(x).is_constant() ? "it is constant"
                           : two != nullptr                ? "it has one value"
                                                           : "an input of the graph");
    facts_[node.outputs[0]].why = Reason(node);
    return;
  }
  std::optional<BinaryProduct> product =
      ReadBinaryProduct(graph_, id, two->low(), two->high(), why_[id]);
  facts_[node.outputs[0]].why = fmt::format("{} gives many values", NameOf(node));
  if (!product) return;
  TakePad(*product);
  products_[id] = std::make_shared<const BinaryProduct>(*std::move(product));
  if (products_[id]->is_lattice) facts_[node.outputs[0]].sums = Sums{products_[id], {}};
}

/// A product of the Sign of any numbers: true where its input is one, whether it becomes bits or
/// not.
bool TwoValuedAnalysis::VisitMasked(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  const ir::ValueId sign = SkipEstimator(graph_, producers_, ProductInput(node));
  const ir::NodeId producer = producers_[sign];
  if (producer < 0 || graph_.node(producer).op != "Sign"_op) return false;
  const ir::ValueId x = graph_.node(producer).inputs[0];
  if (graph_.value(x).dtype != DType::kF32) return false;
  facts_[node.outputs[0]].why = fmt::format("{} gives many values", NameOf(node));
  std::optional<BinaryProduct> product = ReadMaskedProduct(graph_, id, x, why_[id]);
  if (!product) {
    why_[id] = fmt::format("{} ({})", why_[id], Get(sign).why);
    return true;
  }
  products_[id] = std::make_shared<const BinaryProduct>(*std::move(product));
  facts_[node.outputs[0]].sums = Sums{products_[id], {}};
  return true;
}

/// Bits around an image need not be written where they are those of a Pad.
void TwoValuedAnalysis::TakePad(BinaryProduct& product) const {
  const ir::NodeId producer = producers_[product.x];
  if (!product.is_conv || product.is_padded || producer < 0) return;
  const ir::Node& pad = graph_.node(producer);
  if (pad.op != "Pad"_op || graph_.value(pad.inputs[0]).is_constant()) return;
  const TwoValued* x = Find(pad.inputs[0]);
  const auto pads = ReadSpatialPads(graph_, pad);
  if (x == nullptr || x->low() != product.x_low || x->high() != product.x_high || !pads) return;
  const auto rank = static_cast<std::ptrdiff_t>(pads->all.size() / 2);
  product.x = pad.inputs[0];
  product.pads.assign(pads->all.begin() + 2, pads->all.begin() + rank);
  product.pads.insert(product.pads.end(), pads->all.begin() + rank + 2, pads->all.end());
  product.pad_bit = pads->fill == product.x_high;
}

/// What is a function of a product's sums, and whether it has two values.
void TwoValuedAnalysis::FollowSums(const ir::Node& node, ir::NodeId id, Fact& fact) {
  ir::ValueId operand = ir::kAbsent;
  for (ir::ValueId input : node.inputs) {
    if (SumsOf(input) != nullptr) operand = input;
  }
  if (operand == ir::kAbsent) return;
  Sums sums = *SumsOf(operand);
  if (node.op == "MaxPool"_op && node.outputs.size() == 1) {
    sums.is_pooled = true;
  } else if (IsMonotone(graph_, node, operand, Find(operand) != nullptr)) {
    sums.chain.push_back(id);
  } else {
    return;
  }
  if (!fact.two && IsStep(node)) {
    std::string why;
    if (const auto found = FindThresholds(graph_, *sums.product, sums.chain, why)) {
      fact.two = PairAt(node.outputs[0], DType::kF32, found->low, found->high);
    } else {
      fact.why = fmt::format("{}: {}", NameOf(node), why);
    }
  }
  fact.sums = std::move(sums);
}

/// The result of an operator that computes each element on its own, from one bit and numbers.
std::optional<TwoValued> TwoValuedAnalysis::Compute(const ir::Node& node) const {
  if (!node.op->Has(ir::Trait::kElementwise) || node.op->Has(ir::Trait::kRandom) ||
      node.outputs.size() != 1)
    return std::nullopt;
  std::vector<Tensor> operands(node.inputs.size());
  ir::ValueId root = ir::kAbsent;
  if (!KeepsShapeOf(graph_, node)) return std::nullopt;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (node.inputs[i] == ir::kAbsent) continue;
    if (const Constant* constant = ConstantOf(graph_, node.inputs[i])) {
      const std::optional<Tensor> number = NumberOf(*constant);
      if (!number) return std::nullopt;
      operands[i] = *number;
      continue;
    }
    const TwoValued* two = Find(node.inputs[i]);
    if (two == nullptr || (root != ir::kAbsent && root != two->root)) return std::nullopt;
    root = two->root;
    operands[i] = two->results;
  }
  if (root == ir::kAbsent) return std::nullopt;
  const Result<std::vector<Tensor>> results = ops::Evaluate(node, operands);
  if (!results.ok() || (*results)[0].shape() != Shape{2}) return std::nullopt;
  const TwoValued two{root, (*results)[0]};
  const bool are_numbers = two.result(0) == two.result(0) && two.result(1) == two.result(1);
  return are_numbers ? std::optional<TwoValued>(two) : std::nullopt;
}

/// Two neighbouring integers, where what is rounded lies between numbers that give these.
std::optional<TwoValued> TwoValuedAnalysis::StepBetween(const ir::Node& node) const {
  const auto ends = BoundsOf(graph_, producers_, node.outputs[0]);
  if (!ends || (*ends)[1] - (*ends)[0] != 1) return std::nullopt;
  return PairAt(node.outputs[0], DType::kF32, (*ends)[0], (*ends)[1]);
}

/// The same numbers at other places.
std::optional<TwoValued> TwoValuedAnalysis::Move(const ir::Node& node) const {
  const bool is_pad = node.op == "Pad"_op;
  const bool selects = node.op == "MaxPool"_op || node.op == "GlobalMaxPool"_op ||
                       node.op == "ReduceMax"_op || node.op == "Expand"_op || node.op == "Tile"_op;
  if (!selects && !is_pad && !node.op->Has(ir::Trait::kMovesElements)) return std::nullopt;
  const TwoValued* two = Find(node.inputs[0]);
  if (two == nullptr) return std::nullopt;
  double low = two->low(), high = two->high();
  if (is_pad && node.attributes.Text("mode", "constant") == "constant") {
    double fill = 0;
    if (node.input(2) != ir::kAbsent) {
      const Constant* value = ConstantOf(graph_, node.inputs[2]);
      if (value == nullptr || value->elements() != 1) return std::nullopt;
      fill = value->GetDouble(0);
    }
    if (fill != low && fill != high) return std::nullopt;
  }
  if (node.op == "Concat"_op) {
    for (ir::ValueId id : node.inputs) {
      const TwoValued* other = Find(id);
      if (other == nullptr || other->low() != low || other->high() != high) return std::nullopt;
    }
  }
  return PairAt(node.outputs[0], two->results.dtype(), low, high);
}

std::string TwoValuedAnalysis::Reason(const ir::Node& node) const {
  if (node.op == "Sign"_op) return fmt::format("{} of what may be 0 or NaN", NameOf(node));
  if (node.op == "Pad"_op && Find(node.inputs[0]) != nullptr)
    return fmt::format("{} adds a third value", NameOf(node));
  if (node.op == "Concat"_op) {
    for (ir::ValueId id : node.inputs) {
      if (Find(id) == nullptr && !Get(id).why.empty()) return Get(id).why;
    }
    return fmt::format("{} joins other values", NameOf(node));
  }
  const bool follows = node.op->Has(ir::Trait::kMovesElements) || node.op == "MaxPool"_op;
  if (follows && !node.inputs.empty() && !Get(node.inputs[0]).why.empty())
    return Get(node.inputs[0]).why;
  if (node.op == "Add"_op || node.op == "Sub"_op) {
    for (ir::ValueId id : node.inputs) {
      if (Find(id) != nullptr) return fmt::format("{} of a sign and other numbers", NameOf(node));
    }
    // (a - b) + b, which a straight-through estimator leaves, is a but for the rounding.
    for (ir::ValueId id : node.inputs) {
      const ir::NodeId producer = id == ir::kAbsent ? -1 : producers_[id];
      if (producer < 0 || graph_.node(producer).op != "Sub"_op) continue;
      const ir::ValueId taken = graph_.node(producer).inputs[1];
      if (std::count(node.inputs.begin(), node.inputs.end(), taken) > 0)
        return fmt::format("{} rounds: (a - b) + b is not a", NameOf(node));
    }
  }
  return fmt::format("{} gives many values", NameOf(node));
}

}  // namespace fettle::passes
