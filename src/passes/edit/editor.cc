#include "passes/edit/editor.h"

#include <algorithm>
#include <utility>

namespace fettle::passes {

Editor::Editor(ir::Graph& graph) : graph_(graph) {
  Grow();
  for (ir::NodeId id = 0; id < end(); ++id) {
    for (ir::ValueId output : node(id).outputs) {
      if (output != ir::kAbsent) producers_[output] = id;
    }
    AddUses(id);
  }
  for (ir::ValueId output : graph.outputs) is_output_[output] = true;
}

void Editor::Grow() {
  const size_t size = graph_.values().size();
  producers_.resize(size, -1);
  readers_.resize(size);
  is_output_.resize(size);
}

void Editor::AddUses(ir::NodeId id) {
  for (ir::ValueId input : node(id).inputs) {
    if (input != ir::kAbsent) readers_[input].push_back(id);
  }
}

void Editor::DropUse(ir::ValueId value, ir::NodeId reader) {
  auto& readers = readers_[value];
  const auto it = std::find(readers.begin(), readers.end(), reader);
  if (it == readers.end()) return;
  *it = readers.back();
  readers.pop_back();
}

ir::NodeId Editor::ProducerId(ir::ValueId value) const {
  return value == ir::kAbsent ? -1 : producers_[value];
}

const ir::Node* Editor::Producer(ir::ValueId value, ir::OpRef op) const {
  const ir::NodeId id = ProducerId(value);
  if (id < 0) return nullptr;
  const ir::Node& found = node(id);
  return !op || found.op == op ? &found : nullptr;
}

const std::vector<ir::NodeId>& Editor::Readers(ir::ValueId value) const { return readers_[value]; }

bool Editor::HasOneUse(ir::ValueId value) const {
  return !IsOutput(value) && Readers(value).size() == 1;
}

ir::NodeId Editor::OnlyReader(ir::ValueId value) const {
  return HasOneUse(value) ? Readers(value)[0] : -1;
}

ir::ValueId Editor::AddConstant(Constant constant) {
  const ir::ValueId id = graph_.AddConstant("", std::move(constant));
  Grow();
  return id;
}

ir::NodeId Editor::Append(ir::Node added) {
  changed_ = true;
  while (!added.inputs.empty() && added.inputs.back() == ir::kAbsent) added.inputs.pop_back();
  const ir::NodeId id = graph_.AddNode(std::move(added));
  for (ir::ValueId output : node(id).outputs) {
    if (output != ir::kAbsent) producers_[output] = id;
  }
  AddUses(id);
  return id;
}

ir::ValueId Editor::Add(const ir::Node& like, ir::OpRef op, std::vector<ir::ValueId> inputs,
                        ir::Attributes attributes) {
  ir::Node added;
  added.op = op;
  added.name = like.name;
  added.source_index = like.source_index;
  added.source_op = like.source_op;
  added.source_opset = like.source_opset;
  added.inputs = std::move(inputs);
  added.attributes = std::move(attributes);
  const ir::ValueId output = graph_.AddValue({});
  Grow();
  added.outputs = {output};
  Append(std::move(added));
  return output;
}

ir::NodeId Editor::Replace(ir::NodeId old, ir::OpRef op, std::vector<ir::ValueId> inputs,
                           ir::Attributes attributes) {
  ir::Node added = node(old);
  added.op = op;
  added.inputs = std::move(inputs);
  added.attributes = std::move(attributes);
  added.dead = false;
  graph_.node(old).outputs.clear();
  const ir::NodeId id = Append(std::move(added));
  Remove(old);
  return id;
}

ir::NodeId Editor::ReplaceOutput(ir::NodeId old, size_t i, ir::OpRef op,
                                 std::vector<ir::ValueId> inputs, ir::Attributes attributes) {
  ir::Node added = node(old);
  added.op = op;
  added.inputs = std::move(inputs);
  added.attributes = std::move(attributes);
  added.outputs = {std::exchange(graph_.node(old).outputs[i], ir::kAbsent)};
  const ir::NodeId id = Append(std::move(added));
  if (IsUnused(old)) Remove(old);
  return id;
}

void Editor::SetInput(ir::NodeId id, size_t i, ir::ValueId value) {
  ir::Node& edited = graph_.node(id);
  if (edited.inputs.size() <= i) edited.inputs.resize(i + 1, ir::kAbsent);
  const ir::ValueId before = edited.inputs[i];
  if (before == value) return;
  edited.inputs[i] = value;
  changed_ = true;
  if (value != ir::kAbsent) readers_[value].push_back(id);
  if (before == ir::kAbsent) return;
  DropUse(before, id);
  const ir::NodeId producer = ProducerId(before);
  if (producer >= 0 && IsUnused(producer)) Remove(producer);
}

void Editor::CopyProvenance(const ir::Node& from, ir::NodeId id) {
  ir::Node& to = graph_.node(id);
  to.name = from.name;
  to.source_index = from.source_index;
  to.source_op = from.source_op;
  to.source_opset = from.source_opset;
}

void Editor::SetAttribute(ir::NodeId id, std::string_view name, ir::Attribute value) {
  graph_.node(id).attributes.Set(name, std::move(value));
  changed_ = true;
}

void Editor::Redirect(ir::ValueId from, ir::ValueId to) {
  std::vector<ir::NodeId> readers = std::move(readers_[from]);
  readers_[from].clear();
  for (ir::NodeId reader : readers) {
    auto& inputs = graph_.node(reader).inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }
  auto& target = readers_[to];
  target.insert(target.end(), readers.begin(), readers.end());
  changed_ = true;
}

ir::ValueId Editor::Bypass(ir::NodeId id, ir::ValueId value) {
  const ir::ValueId output = node(id).output(0);
  if (!IsOutput(output)) {
    Redirect(output, value);
    Remove(id);
    return value;
  }
  const ir::NodeId producer = ProducerId(value);
  if (producer < 0 || IsOutput(value)) return ir::kAbsent;
  // The name of a graph output must live on: the producer writes it instead.
  graph_.node(id).outputs.clear();
  for (ir::ValueId& input : graph_.node(id).inputs) {
    if (input != value) continue;
    DropUse(value, id);
    input = ir::kAbsent;
  }
  Redirect(value, output);
  auto& outputs = graph_.node(producer).outputs;
  std::replace(outputs.begin(), outputs.end(), value, output);
  producers_[value] = -1;
  producers_[output] = producer;
  ir::Value& kept = graph_.value(output);
  const ir::Value& dropped = graph_.value(value);
  if (kept.dtype == DType::kUndefined) kept.dtype = dropped.dtype;
  if (!kept.has_concrete_shape() && dropped.has_concrete_shape()) kept.shape = dropped.shape;
  Remove(id);
  return output;
}

void Editor::MakeConstant(ir::ValueId id, Constant constant) {
  const ir::NodeId producer = ProducerId(id);
  ir::Value& made = graph_.value(id);
  made.dtype = constant.dtype();
  made.shape = constant.shape();
  made.constant = std::make_shared<const Constant>(std::move(constant));
  producers_[id] = -1;
  changed_ = true;
  if (producer < 0) return;
  auto& outputs = graph_.node(producer).outputs;
  std::replace(outputs.begin(), outputs.end(), id, ir::kAbsent);
  if (IsUnused(producer)) Remove(producer);
}

bool Editor::IsUnused(ir::NodeId id) const {
  for (ir::ValueId output : node(id).outputs) {
    if (output == ir::kAbsent) continue;
    if (IsOutput(output) || !Readers(output).empty()) return false;
  }
  return true;
}

void Editor::Remove(ir::NodeId first) {
  std::vector<ir::NodeId> pending = {first};
  changed_ = true;
  while (!pending.empty()) {
    const ir::NodeId id = pending.back();
    pending.pop_back();
    ir::Node& removed = graph_.node(id);
    if (removed.dead) continue;
    removed.dead = true;
    for (ir::ValueId output : removed.outputs) {
      if (output != ir::kAbsent && producers_[output] == id) {
        producers_[output] = -1;
      }
    }
    for (ir::ValueId input : removed.inputs) {
      if (input == ir::kAbsent) continue;
      DropUse(input, id);
      const ir::NodeId producer = ProducerId(input);
      if (producer >= 0 && IsUnused(producer)) pending.push_back(producer);
    }
  }
}

Result<bool> Editor::Finish() {
  if (changed_) RETURN_IF_ERROR(graph_.Normalise());
  return changed_;
}

bool HasOp(const ir::Graph& graph, std::initializer_list<ir::OpRef> ops) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const ir::Node& node) {
    return !node.dead && std::find(ops.begin(), ops.end(), node.op) != ops.end();
  });
}

}  // namespace fettle::passes
