#include "importers/onnx/sequences.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "importers/onnx/builder.h"

namespace fettle::onnx {
namespace {

using ops::ImportContext;
using Operands = std::vector<SharedSequence>;

/// What a tensor of a sequence that is copied, or put together, is counted as.
constexpr size_t kBytesOfTensor = 64;

MadeOfSequences Made(Sequence sequence) {
  return {.sequence = std::make_shared<const Sequence>(std::move(sequence))};
}

Result<const Sequence*> SequenceOf(const Operands& operands, size_t i) {
  if (i >= operands.size() || operands[i] == nullptr)
    return InvalidModel("input {}: expected a sequence", i);
  return operands[i].get();
}

Result<ir::ValueId> TensorOf(const ImportContext& context, const Operands& operands, size_t i) {
  if (!context.has_input(i)) return InvalidModel("input {} is required", i);
  if (operands[i] != nullptr) return InvalidModel("input {}: expected a tensor", i);
  return context.input(i);
}

/// The constant position that operand 1 or 2 gives; `absent` where it is left out.
Result<int64_t> PositionOf(const ImportContext& context, size_t i, int64_t absent) {
  if (!context.has_input(i)) return absent;
  const Constant* position = context.constant(i);
  if (position == nullptr) return Unsupported("takes a position that is a constant");
  if (position->elements() != 1) return InvalidModel("input {}: expected one position", i);
  return position->GetInt(0);
}

/// `position` from the front; kInvalidModel where it is not in [-count, limit).
Result<size_t> FromFront(int64_t position, size_t count, size_t limit) {
  const int64_t front = position < 0 ? position + static_cast<int64_t>(count) : position;
  if (front < 0 || front >= static_cast<int64_t>(limit))
    return InvalidModel("position {} of a sequence of {}", position, count);
  return static_cast<size_t>(front);
}

Result<const Sequence*> TensorsOf(const Operands& operands) {
  ASSIGN_OR_RETURN(const Sequence* sequence, SequenceOf(operands, 0));
  if (sequence->cut) return Unsupported("takes a sequence whose number of tensors is known");
  return sequence;
}

Result<MadeOfSequences> Empty(ImportContext&, const Operands&) { return Made({}); }

Result<MadeOfSequences> Construct(ImportContext& context, const Operands& operands) {
  Sequence made;
  for (size_t i = 0; i < operands.size(); ++i) {
    ASSIGN_OR_RETURN(const ir::ValueId tensor, TensorOf(context, operands, i));
    made.tensors.push_back(tensor);
  }
  return Made(std::move(made));
}

Result<MadeOfSequences> Insert(ImportContext& context, const Operands& operands) {
  ASSIGN_OR_RETURN(const Sequence* sequence, TensorsOf(operands));
  ASSIGN_OR_RETURN(const ir::ValueId tensor, TensorOf(context, operands, 1));
  const size_t count = sequence->tensors.size();
  ASSIGN_OR_RETURN(const int64_t position, PositionOf(context, 2, static_cast<int64_t>(count)));
  ASSIGN_OR_RETURN(const size_t front, FromFront(position, count, count + 1));
  Sequence made = *sequence;
  made.tensors.insert(made.tensors.begin() + static_cast<ptrdiff_t>(front), tensor);
  return Made(std::move(made));
}

Result<MadeOfSequences> Erase(ImportContext& context, const Operands& operands) {
  ASSIGN_OR_RETURN(const Sequence* sequence, TensorsOf(operands));
  ASSIGN_OR_RETURN(const int64_t position, PositionOf(context, 1, -1));
  const size_t count = sequence->tensors.size();
  ASSIGN_OR_RETURN(const size_t front, FromFront(position, count, count));
  Sequence made = *sequence;
  made.tensors.erase(made.tensors.begin() + static_cast<ptrdiff_t>(front));
  return Made(std::move(made));
}

Result<MadeOfSequences> Split(ImportContext& context, const Operands& operands) {
  ASSIGN_OR_RETURN(const ir::ValueId whole, TensorOf(context, operands, 0));
  Sequence::Cut cut{.whole = whole, .axis = context.attributes().Int("axis", 0)};
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(cut.sizes, TensorOf(context, operands, 1));
  } else {
    cut.has_axis = context.attributes().Int("keepdims", 1) != 0;
  }
  return Made({.cut = cut});
}

/// Parts of extent 1 are taken as exporters with fixed extents take them.
Result<ir::ValueId> OneOf(ImportContext& context, const Sequence::Cut& cut) {
  const ir::ValueId axis = context.ConstInts({cut.axis});
  const ir::Attributes along{{"axis", cut.axis}};
  if (context.constant(1) == nullptr) {
    const ir::ValueId position =
        cut.has_axis ? context.Emit1("Reshape", {context.input(1), context.ConstInts({1})})
                     : context.input(1);
    return context.Emit1("Gather", {cut.whole, position}, along);
  }
  ASSIGN_OR_RETURN(const int64_t position, PositionOf(context, 1, 0));
  const ir::ValueId first = context.ConstInts({position});
  if (cut.has_axis) return context.Emit1("Gather", {cut.whole, first}, along);
  const int64_t end = position == -1 ? std::numeric_limits<int64_t>::max() : position + 1;
  const ir::ValueId part =
      context.Emit1("Slice", {cut.whole, first, context.ConstInts({end}), axis});
  return context.Emit1("Squeeze", {part, axis});
}

ir::ValueId IndicesOf(ImportContext& context, ir::ValueId numbers) {
  return context.Emit1("Cast", {numbers}, {{"to", std::string("i64")}});
}

/// A part of given extents. One extent for all parts, written down often enough, is the list of
/// them.
Result<ir::ValueId> PartOf(ImportContext& context, const Sequence::Cut& cut) {
  ASSIGN_OR_RETURN(int64_t position, PositionOf(context, 1, 0));
  const Constant* known = context.graph().value(cut.sizes).constant.get();
  if (position < 0 && (known == nullptr || known->shape().rank() == 0))
    return Unsupported("takes no position from the end of parts that are not counted");
  if (known != nullptr && known->shape().rank() > 0) {
    const auto count = static_cast<size_t>(known->elements());
    ASSIGN_OR_RETURN(const size_t front, FromFront(position, count, count));
    position = static_cast<int64_t>(front);
  }
  const ir::ValueId as_index = context.Emit1("Cast", {cut.sizes}, {{"to", std::string("i64")}});
  const ir::ValueId given = context.Emit1("Reshape", {as_index, context.ConstInts({-1})});
  const ir::ValueId zero = context.ConstInts({0}), at = context.ConstInts({position});
  const ir::ValueId behind = context.ConstInts({position + 1});
  const ir::ValueId sizes = context.Emit1("Tile", {given, behind});
  const ir::ValueId before = context.Emit1("Slice", {sizes, zero, at, zero});
  const ir::ValueId begin = context.Emit1("ReduceSum", {before, zero}, {{"keepdims", int64_t{1}}});
  const ir::ValueId size = context.Emit1("Slice", {sizes, at, behind, zero});
  const ir::ValueId end = context.Emit1("Add", {begin, size});
  return context.Emit1("Slice", {cut.whole, begin, end, context.ConstInts({cut.axis})});
}

Result<MadeOfSequences> At(ImportContext& context, const Operands& operands) {
  ASSIGN_OR_RETURN(const Sequence* sequence, SequenceOf(operands, 0));
  RETURN_IF_ERROR(TensorOf(context, operands, 1).status());
  MadeOfSequences made;
  if (!sequence->cut) {
    ASSIGN_OR_RETURN(const int64_t position, PositionOf(context, 1, 0));
    const size_t count = sequence->tensors.size();
    ASSIGN_OR_RETURN(const size_t front, FromFront(position, count, count));
    made.tensor = sequence->tensors[front];
  } else if (sequence->cut->sizes == ir::kAbsent) {
    ASSIGN_OR_RETURN(made.tensor, OneOf(context, *sequence->cut));
  } else {
    ASSIGN_OR_RETURN(made.tensor, PartOf(context, *sequence->cut));
  }
  return made;
}

/// Parts of one extent where that is one number, and as many as there are numbers otherwise.
ir::ValueId CountOf(ImportContext& context, const Sequence::Cut& cut, ir::ValueId extent) {
  const ir::ValueId one = context.ConstScalar(DType::kI64, 1);
  const ir::ValueId count = context.Emit1("Size", {cut.sizes});
  const ir::ValueId list =
      context.Emit1("Reshape", {IndicesOf(context, cut.sizes), context.ConstInts({-1})});
  const ir::ValueId first = context.Emit1("Gather", {list, context.ConstScalar(DType::kI64, 0)});
  const ir::ValueId more = context.Emit1("Sub", {context.Emit1("Add", {extent, first}), one});
  return context.Emit1("Where", {context.Emit1("Greater", {count, one}), count,
                                 context.Emit1("Div", {more, first})});
}

Result<MadeOfSequences> Length(ImportContext& context, const Operands& operands) {
  ASSIGN_OR_RETURN(const Sequence* sequence, SequenceOf(operands, 0));
  if (!sequence->cut) {
    const auto count = static_cast<double>(sequence->tensors.size());
    return MadeOfSequences{.tensor = context.ConstScalar(DType::kI64, count)};
  }
  const Sequence::Cut& cut = *sequence->cut;
  const ir::ValueId axis = context.ConstScalar(DType::kI64, static_cast<double>(cut.axis));
  const ir::ValueId extent = context.Emit1("Gather", {context.Emit1("Shape", {cut.whole}), axis});
  if (cut.sizes == ir::kAbsent) return MadeOfSequences{.tensor = extent};
  return MadeOfSequences{.tensor = CountOf(context, cut, extent)};
}

Result<MadeOfSequences> Concat(ImportContext& context, const Operands& operands) {
  ASSIGN_OR_RETURN(const Sequence* sequence, SequenceOf(operands, 0));
  if (!context.attributes().Has("axis")) return InvalidModel("attribute 'axis': is required");
  const int64_t axis = context.attributes().Int("axis");
  const bool is_new = context.attributes().Int("new_axis", 0) != 0;
  if (sequence->cut) {  // puts together what was one
    if (sequence->cut->axis != axis || sequence->cut->has_axis == is_new)
      return Unsupported("takes a sequence whose number of tensors is known");
    return MadeOfSequences{.tensor = sequence->cut->whole};
  }
  if (sequence->tensors.empty()) return InvalidModel("a sequence without tensors");
  std::vector<ir::ValueId> tensors = sequence->tensors;
  for (ir::ValueId& tensor : tensors)
    if (is_new) tensor = context.Emit1("Unsqueeze", {tensor, context.ConstInts({axis})});
  return MadeOfSequences{.tensor = context.Emit1("Concat", std::move(tensors), {{"axis", axis}})};
}

struct Rule {
  std::string_view op_type;
  Result<MadeOfSequences> (*run)(ImportContext& context, const Operands& operands);
};

constexpr Rule kRules[] = {
    {"ConcatFromSequence", Concat}, {"SequenceAt", At},         {"SequenceConstruct", Construct},
    {"SequenceEmpty", Empty},       {"SequenceErase", Erase},   {"SequenceInsert", Insert},
    {"SequenceLength", Length},     {"SplitToSequence", Split},
};

}  // namespace

Result<MadeOfSequences> ImportOfSequences(ImportContext& context, const Operands& sequences) {
  const auto* rule = std::ranges::find(kRules, context.node().op_type, &Rule::op_type);
  if (rule != std::end(kRules)) return rule->run(context, sequences);
  return MadeOfSequences{.sequence = sequences[0]};  // Identity
}

bool GraphBuilder::IsOfSequences(const NodeRecord& node, Scope* scope) {
  if (!node.domain.empty()) return false;
  if (std::ranges::find(kRules, node.op_type, &Rule::op_type) != std::end(kRules)) return true;
  if (node.op_type != "Identity" || node.inputs.size() != 1) return false;
  const Binding* binding = scope->Find(node.inputs[0]);
  return binding != nullptr && binding->sequence != nullptr;
}

Status GraphBuilder::RunSequenceRule(ops::NeutralNode& neutral, const Operands& sequences,
                                     const NodeRecord& node, const Frame& frame, Scope* scope) {
  for (const SharedSequence& sequence : sequences)
    if (sequence != nullptr) RETURN_IF_ERROR(Spend(kBytesOfTensor * sequence->tensors.size()));
  ASSIGN_OR_RETURN(const AttributeMap attributes, ReadAttributes(node, frame));
  for (const auto& [name, value] : attributes) neutral.attributes.Set(name, value);
  ImportContext context(neutral, scope->graph());
  ASSIGN_OR_RETURN(MadeOfSequences made, ImportOfSequences(context, sequences));
  if (made.sequence == nullptr) return BindOutputs(node, {made.tensor}, frame, scope);
  const std::string_view name = node.outputs[0];
  Binding binding = scope->Refuse(Unsupported("value '{}': is a sequence, not a tensor", name));
  binding.sequence = std::move(made.sequence);
  if (!scope->Define(name, std::move(binding)))
    return InvalidModel("output 0 '{}': a graph input or initialiser has this name", name);
  return OkStatus();
}

}  // namespace fettle::onnx
