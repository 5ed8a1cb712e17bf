#include "passes/find/unrolled_rnn.h"

#include <algorithm>
#include <map>
#include <optional>

#include "passes/edit/equal_nodes.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

constexpr int64_t kLeastSteps = 4;

/// A value times constant weights [inputs, outputs], plus a constant of outputs where there is one.
struct RnnSums {
  ir::ValueId x = ir::kAbsent, weights = ir::kAbsent, bias = ir::kAbsent;
};

/// Tanh(carried + slice `index` of `sums`).
struct RnnStep {
  ir::NodeId node = -1;
  ir::ValueId sums = ir::kAbsent;
  int64_t index = 0;
  ir::ValueId first = ir::kAbsent;  // where what is carried is a constant
  RnnSums carried;
};

/// A constant of two axes, as it is or behind a Transpose.
bool IsWeights(const Editor& editor, ir::ValueId id) {
  if (const ir::Node* transpose = editor.Producer(id, "Transpose"_op)) id = transpose->inputs[0];
  const Constant* constant = ConstantOf(editor.graph(), id);
  return constant != nullptr && constant->shape().rank() == 2;
}

/// Whether two constants hold the same; exporters that fold transposes write weights once a step.
bool AreEqual(const Editor& editor, ir::ValueId a, ir::ValueId b) {
  if (a == b) return true;
  const Constant *left = ConstantOf(editor.graph(), a), *right = ConstantOf(editor.graph(), b);
  if (left == nullptr || right == nullptr) return false;
  if (SameConstant(*left, *right)) return true;
  return left->source() == nullptr && right->source() == nullptr && !left->is_splat() &&
         !right->is_splat() && left->dtype() == right->dtype() && left->shape() == right->shape() &&
         std::ranges::equal(left->bytes(), right->bytes());
}

/// Whether `step` does with the state of `before` what that did with the one before it.
bool Continues(const Editor& editor, const RnnStep& step, const RnnStep& before) {
  if (step.sums != before.sums || step.first != ir::kAbsent) return false;
  return before.first != ir::kAbsent ||
         (AreEqual(editor, step.carried.weights, before.carried.weights) &&
          AreEqual(editor, step.carried.bias, before.carried.bias));
}

std::optional<RnnSums> ReadRnnSums(const Editor& editor, ir::ValueId id) {
  const ir::Node* node = editor.Producer(id);
  RnnSums affine;
  if (node != nullptr && node->op == "Add"_op) {
    const size_t at = ConstantOf(editor.graph(), node->inputs[0]) != nullptr ? 0 : 1;
    affine.bias = node->inputs[at];
    const Constant* bias = ConstantOf(editor.graph(), affine.bias);
    const ir::ValueId product = node->inputs[1 - at];
    if (bias == nullptr || bias->shape().rank() < 1 || !editor.HasOneUse(product) ||
        bias->shape()[bias->shape().rank() - 1] != bias->elements())
      return std::nullopt;
    node = editor.Producer(product);
  }
  if (node == nullptr || node->op != "MatMul"_op || !IsWeights(editor, node->inputs[1]))
    return std::nullopt;
  affine.x = node->inputs[0];
  affine.weights = node->inputs[1];
  const std::optional<Shape>& x = editor.value(affine.x).shape;
  return x && x->rank() == 3 ? std::optional(affine) : std::nullopt;
}

/// Where a Slice takes whole steps of axis 0 alone: (first, step); otherwise nothing.
std::optional<std::pair<int64_t, int64_t>> StepsOfSlice(const Editor& editor, const ir::Node& slice,
                                                        int64_t taken) {
  const auto ints = [&](size_t i) { return IntsOf(editor.graph(), slice.input(i)); };
  const auto begin = ints(1), axes = ints(3), step = ints(4);
  const std::optional<Shape>&x = editor.value(slice.inputs[0]).shape,
        &y = editor.value(slice.outputs[0]).shape;
  if (!begin || begin->size() != 1 ||
      (slice.input(3) != ir::kAbsent && axes != std::vector<int64_t>{0}) ||
      (slice.input(4) != ir::kAbsent && !step) || !x || !y || y->rank() < 1 || (*y)[0] != taken)
    return std::nullopt;
  const int64_t first = (*begin)[0] < 0 ? (*begin)[0] + (*x)[0] : (*begin)[0];
  return std::pair(first, step ? (*step)[0] : 1);
}

/// A step [batch, hidden] or [1, batch, hidden] of a tensor of steps.
bool ReadSlice(const Editor& editor, ir::ValueId id, RnnStep& step) {
  const ir::Node* node = editor.Producer(id);
  if (node == nullptr) return false;
  if (node->op == "Squeeze"_op || node->op == "Reshape"_op) {
    const std::optional<Shape>& shape = editor.value(id).shape;
    if (!shape || shape->rank() != 2) return false;
    id = node->inputs[0];
    if (editor.value(id).shape != Shape{1, (*shape)[0], (*shape)[1]}) return false;
    node = editor.Producer(id);
  }
  if (node == nullptr || node->op != "Slice"_op) return false;
  const auto steps = StepsOfSlice(editor, *node, 1);
  const std::optional<Shape>& sums = editor.value(node->inputs[0]).shape;
  if (!steps || !sums || sums->rank() != 3) return false;
  step.sums = node->inputs[0];
  step.index = steps->first;
  return true;
}

std::optional<RnnStep> ReadRnnStep(const Editor& editor, ir::NodeId id) {
  const ir::Node& tanh = editor.node(id);
  const ir::Node* add = editor.Producer(tanh.inputs[0], "Add"_op);
  if (add == nullptr || !editor.HasOneUse(tanh.inputs[0])) return std::nullopt;
  RnnStep step{.node = id};
  const bool is_left = ReadSlice(editor, add->inputs[0], step);
  if (!is_left && !ReadSlice(editor, add->inputs[1], step)) return std::nullopt;
  const ir::ValueId rest = add->inputs[is_left ? 1 : 0];
  const Shape& sums = *editor.value(step.sums).shape;
  if (editor.value(tanh.outputs[0]).shape != Shape{1, sums[1], sums[2]}) return std::nullopt;
  if (ConstantOf(editor.graph(), rest) != nullptr) {
    step.first = rest;
    return step;
  }
  const auto carried = ReadRnnSums(editor, rest);
  if (!carried || !editor.HasOneUse(rest) ||
      editor.value(carried->x).shape != editor.value(tanh.outputs[0]).shape)
    return std::nullopt;
  step.carried = *carried;
  return step;
}

/// A whole chain, in the order in which it is computed, and what it is of.
struct RnnChain {
  std::vector<RnnStep> steps;
  RnnSums input;
  bool downwards = false, flipped = false;
  ir::NodeId joined = -1;  // the Concat of its states
};

/// Whether the steps go through all of their sums one by one.
bool CoversAll(const Editor& editor, RnnChain& chain) {
  const int64_t count = (*editor.value(chain.steps[0].sums).shape)[0];
  chain.downwards = chain.steps[0].index != 0;
  if (std::ssize(chain.steps) != count || count < kLeastSteps) return false;
  for (int64_t i = 0; i < count; ++i)
    if (chain.steps[i].index != (chain.downwards ? count - 1 - i : i)) return false;
  return true;
}

/// Whether what is carried to the first step, a constant, is what a state of zeros carries.
bool BeginsWithZeros(const Editor& editor, const RnnChain& chain) {
  const Constant& first = *ConstantOf(editor.graph(), chain.steps[0].first);
  const Constant* bias = ConstantOf(editor.graph(), chain.steps[1].carried.bias);
  const int64_t hidden = (*editor.value(chain.steps[0].sums).shape)[2];
  const Shape& shape = first.shape();
  if (shape.rank() < 1 || shape[shape.rank() - 1] != hidden) return false;
  if (bias != nullptr && bias->elements() != hidden) return false;
  for (int64_t i = 0; i < first.elements(); ++i)
    if (first.GetDouble(i) != (bias == nullptr ? 0 : bias->GetDouble(i % hidden))) return false;
  return true;
}

/// The sums as a product of what the layer reads; they may be turned around.
bool ReadInput(const Editor& editor, RnnChain& chain) {
  ir::ValueId sums = chain.steps[0].sums;
  const int64_t count = (*editor.value(sums).shape)[0];
  if (const ir::Node* flip = editor.Producer(sums, "Slice"_op)) {
    const auto steps = StepsOfSlice(editor, *flip, count);
    if (steps != std::pair<int64_t, int64_t>(count - 1, -1)) return false;
    sums = flip->inputs[0];
    chain.flipped = true;
  }
  const auto input = ReadRnnSums(editor, sums);
  if (!input) return false;
  chain.input = *input;
  return true;
}

/// Finds the Concat; false where something else reads a state but the last.
bool ReadReaders(const Editor& editor, RnnChain& chain) {
  const int64_t count = std::ssize(chain.steps);
  std::vector<ir::ValueId> states(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = chain.downwards != chain.flipped ? count - 1 - i : i;
    states[at] = editor.node(chain.steps[i].node).outputs[0];
  }
  for (int64_t i = 0; i < count; ++i) {
    const ir::ValueId state = editor.node(chain.steps[i].node).outputs[0];
    int64_t products = 0;
    for (const ir::NodeId reader : editor.Readers(state)) {
      const ir::Node& node = editor.node(reader);
      if (node.op == "Concat"_op && node.attributes.Int("axis", 0) == 0 && node.inputs == states) {
        if (chain.joined >= 0 && chain.joined != reader) return false;
        chain.joined = reader;
      } else if (node.op == "MatMul"_op) {
        ++products;
      } else if (i + 1 < count) {
        return false;
      }
    }
    if (i + 1 < count && (products != 1 || editor.IsOutput(state))) return false;
  }
  return true;
}

/// Weights [inputs, outputs] as a constant [1, outputs, inputs].
Result<ir::ValueId> RnnWeights(TypedNodes& nodes, ir::ValueId id) {
  Editor& editor = nodes.editor();
  const ir::Node* transpose = editor.Producer(id, "Transpose"_op);
  const Constant& from =
      *ConstantOf(editor.graph(), transpose != nullptr ? transpose->inputs[0] : id);
  const int64_t rows = from.shape()[0], columns = from.shape()[1];
  if (transpose != nullptr && transpose->attributes.Ints("perm", {1, 0})[0] == 0)
    transpose = nullptr;
  std::vector<double> values(from.elements());
  for (int64_t i = 0; i < from.elements(); ++i)
    values[transpose != nullptr ? i : i % columns * rows + i / columns] = from.GetDouble(i);
  const Shape shape = transpose != nullptr ? Shape{1, rows, columns} : Shape{1, columns, rows};
  ASSIGN_OR_RETURN(Constant made, ConstantFrom(from.dtype(), shape, values));
  return editor.AddConstant(std::move(made));
}

Result<ir::ValueId> RnnBiases(TypedNodes& nodes, ir::ValueId input, ir::ValueId state,
                              int64_t hidden) {
  std::vector<double> values(2 * hidden);
  for (int64_t i = 0; i < 2 * hidden; ++i) {
    const Constant* from = ConstantOf(nodes.editor().graph(), i < hidden ? input : state);
    if (from == nullptr) continue;
    if (from->elements() != hidden) return ir::kAbsent;
    values[i] = from->GetDouble(i % hidden);
  }
  ASSIGN_OR_RETURN(Constant made, ConstantFrom(nodes.dtype(), Shape{1, 2 * hidden}, values));
  return nodes.editor().AddConstant(std::move(made));
}

Status MakeRnn(Editor& editor, const RnnChain& chain) {
  const RnnStep &first = chain.steps[0], &last = chain.steps.back();
  const Shape sums = *editor.value(first.sums).shape;
  const int64_t count = sums[0], batch = sums[1], hidden = sums[2];
  TypedNodes nodes(editor, editor.node(last.node), DType::kF32);
  const RnnSums& carried = chain.steps[1].carried;
  ASSIGN_OR_RETURN(const ir::ValueId biases,
                   RnnBiases(nodes, chain.input.bias, carried.bias, hidden));
  if (biases == ir::kAbsent) return OkStatus();
  ASSIGN_OR_RETURN(const ir::ValueId w, RnnWeights(nodes, chain.input.weights));
  ASSIGN_OR_RETURN(const ir::ValueId r, RnnWeights(nodes, carried.weights));
  std::vector<ir::ValueId> inputs = {chain.input.x, w, r, biases};
  if (first.first == ir::kAbsent) {
    inputs.push_back(ir::kAbsent);
    inputs.push_back(first.carried.x);
  }
  const bool backwards = chain.downwards != chain.flipped;
  ir::Attributes attributes = {{"hidden_size", hidden},
                               {"direction", std::string(backwards ? "reverse" : "forward")}};
  const ir::ValueId y = nodes.Add("RNN"_op, inputs, {count, 1, batch, hidden}, attributes);
  const ir::ValueId states = nodes.Reshape(y, {count, batch, hidden});
  const int64_t at = backwards ? 0 : count - 1;
  editor.Replace(
      last.node, "Slice"_op,
      {states, nodes.Ints({at}), nodes.Ints({at + 1}), nodes.Ints({0}), nodes.Ints({1})});
  if (chain.joined >= 0 && !editor.node(chain.joined).dead)
    editor.Replace(chain.joined, "Reshape"_op, {y, nodes.Ints({count, batch, hidden})});
  return OkStatus();
}

}  // namespace

Result<bool> FindUnrolledRnn(ir::Graph& graph) {
  if (!HasOp(graph, {"Tanh"_op}) || !HasOp(graph, {"Slice"_op})) return false;
  Editor editor(graph);
  std::map<ir::ValueId, RnnStep> after;  // by the state before
  std::vector<RnnStep> firsts;
  std::map<ir::ValueId, RnnStep> states;
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    if (node.dead || node.op != "Tanh"_op || editor.value(node.outputs[0]).dtype != DType::kF32)
      continue;
    const std::optional<RnnStep> step = ReadRnnStep(editor, id);
    if (!step) continue;
    states.emplace(node.outputs[0], *step);
    const auto before = states.find(step->carried.x);
    if (before != states.end() && Continues(editor, *step, before->second)) {
      after.emplace(step->carried.x, *step);
    } else {
      firsts.push_back(*step);
    }
  }
  for (const RnnStep& first : firsts) {
    RnnChain chain{.steps = {first}};
    for (auto next = after.find(editor.node(first.node).outputs[0]); next != after.end();
         next = after.find(editor.node(next->second.node).outputs[0]))
      chain.steps.push_back(next->second);
    if (!CoversAll(editor, chain) || !ReadInput(editor, chain) || !ReadReaders(editor, chain))
      continue;
    if (first.first != ir::kAbsent && !BeginsWithZeros(editor, chain)) continue;
    RETURN_IF_ERROR(MakeRnn(editor, chain));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
