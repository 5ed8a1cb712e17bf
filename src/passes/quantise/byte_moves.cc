#include "passes/quantise/byte_moves.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/quantise/byte_type.h"

namespace fettle::passes {
namespace {

bool Selects(const ir::Node& node) {
  return node.op == "MaxPool"_op || node.op == "ReduceMax"_op || node.op == "ReduceMin"_op;
}

bool MovesOrSelects(const ir::Node& node) {
  if (node.op == "Resize"_op) {
    return node.attributes.Text("mode", "nearest") == "nearest" &&
           node.attributes.Text("coordinate_transformation_mode") != "tf_crop_and_resize";
  }
  return node.op->Has(ir::Trait::kMovesElements) || node.op == "Pad"_op ||
         node.op == "ChannelShuffle"_op || Selects(node);
}

/// How many operands, the first ones, hold values to move.
size_t DataOperands(const ir::Node& node) {
  return node.op == "Concat"_op ? node.inputs.size() : std::min<size_t>(1, node.inputs.size());
}

/// The greatest byte is the greatest value, and stands for one in every window.
Status CheckSelects(const ir::Node& node, const ByteType& type) {
  if (!(type.scale > 0)) return Unsupported("the scale {} is not positive", type.scale);
  if (node.outputs.size() > 1) return Unsupported("indices of the values are asked for");
  for (int64_t step : node.attributes.Ints("dilations")) {
    if (step != 1) return Unsupported("a window with gaps may hold padding alone");
  }
  return OkStatus();
}

/// What a constant Pad puts around the bytes: a constant that they can hold exactly.
Result<int64_t> PadByte(const ir::Graph& graph, const ir::Node& node, const ByteType& type) {
  double value = 0;
  if (node.input(2) != ir::kAbsent) {
    const Constant* constant = ConstantOf(graph, node.input(2));
    if (constant == nullptr || constant->elements() != 1)
      return Unsupported("the value around it is computed at run time");
    value = constant->GetDouble(0);
  }
  const int64_t byte = type.Quantise(value);
  const auto real = static_cast<float>(static_cast<double>(byte - type.zero) * type.scale);
  if (real != static_cast<float>(value))
    return Unsupported("{} is between two of its steps", static_cast<float>(value));
  return byte;
}

/// The dequantisers behind the operands that a node moves, which have equal parameters.
struct Operands {
  std::vector<ir::NodeId> dequantisers;
  ByteType type;
};

bool IsDequantised(const Editor& editor, ir::ValueId id) {
  return editor.Producer(id, "DequantizeLinear"_op) != nullptr;
}

/// Fails with kUnsupported and the reason where bytes cannot be moved.
Result<Operands> ReadOperands(const Editor& editor, const ir::Node& node) {
  Operands operands;
  for (size_t i = 0; i < DataOperands(node); ++i) {
    const ir::NodeId producer = editor.ProducerId(node.inputs[i]);
    if (!IsDequantised(editor, node.inputs[i]))
      return Unsupported("operand {} is not dequantised", i);
    ASSIGN_OR_RETURN(const ByteType type, ReadByteType(editor.graph(), editor.node(producer)));
    if (i > 0 && type != operands.type)
      return Unsupported("operands have different scales or zero points");
    operands.type = type;
    operands.dequantisers.push_back(producer);
  }
  if (operands.dequantisers.empty()) return Unsupported("nothing to move");
  if (Selects(node)) RETURN_IF_ERROR(CheckSelects(node, operands.type));
  if (node.op == "Pad"_op && node.attributes.Text("mode", "constant") == "constant")
    RETURN_IF_ERROR(PadByte(editor.graph(), node, operands.type).status());
  for (ir::ValueId output : node.outputs) {
    if (output != ir::kAbsent && editor.IsOutput(output))
      return Unsupported("the result is an output of the graph");
  }
  return operands;
}

/// Makes node `id` move bytes, and dequantises what it writes.
void MoveBehind(Editor& editor, ir::NodeId id, const Operands& operands) {
  const ir::Node like = editor.node(operands.dequantisers[0]);
  for (size_t i = 0; i < operands.dequantisers.size(); ++i)
    editor.SetInput(id, i, editor.node(operands.dequantisers[i]).inputs[0]);
  if (editor.node(id).op == "Pad"_op &&
      editor.node(id).attributes.Text("mode", "constant") == "constant") {
    const int64_t byte = *PadByte(editor.graph(), editor.node(id), operands.type);
    Result<Constant> value =
        ConstantFrom(operands.type.dtype, Shape(), {static_cast<double>(byte)});
    if (value.ok()) editor.SetInput(id, 2, editor.AddConstant(*std::move(value)));
  }
  const std::vector<ir::ValueId> outputs = editor.node(id).outputs;
  for (ir::ValueId output : outputs) {
    if (output == ir::kAbsent) continue;
    const std::vector<ir::NodeId> readers = editor.Readers(output);
    std::vector<ir::ValueId> inputs = like.inputs;
    inputs[0] = output;
    const ir::ValueId real = editor.Add(editor.node(id), like.op, inputs, like.attributes);
    editor.CopyType(output, real);
    editor.graph().value(output).dtype = operands.type.dtype;
    for (ir::NodeId reader : readers) {
      for (size_t i = 0; i < editor.node(reader).inputs.size(); ++i) {
        if (editor.node(reader).inputs[i] == output) editor.SetInput(reader, i, real);
      }
    }
  }
}

/// The one QuantizeLinear that reads a Concat of which an operand is dequantised.
Result<ir::NodeId> QuantiserBehind(const Editor& editor, const ir::Node& concat) {
  const ir::NodeId reader = editor.OnlyReader(concat.outputs[0]);
  if (reader < 0 || editor.node(reader).op != "QuantizeLinear"_op)
    return Unsupported(
        "operands have different scales or zero points, and no single QuantizeLinear reads the "
        "joined result");
  RETURN_IF_ERROR(ReadByteType(editor.graph(), editor.node(reader)).status());
  return reader;
}

/// Quantises the operands of a Concat instead of its result.
void MoveBefore(Editor& editor, ir::NodeId concat, ir::NodeId quantiser) {
  const ir::Node join = editor.node(concat), like = editor.node(quantiser);
  const DType dtype = ReadByteType(editor.graph(), like)->dtype;
  std::vector<ir::ValueId> bytes;
  for (ir::ValueId input : join.inputs) {
    std::vector<ir::ValueId> inputs = like.inputs;
    inputs[0] = input;
    const ir::ValueId quantised = editor.Add(like, like.op, inputs, like.attributes);
    editor.CopyType(input, quantised);
    editor.graph().value(quantised).dtype = dtype;
    bytes.push_back(quantised);
  }
  editor.CopyProvenance(join, editor.Replace(quantiser, join.op, bytes, join.attributes));
}

bool ReadsDequantised(const Editor& editor, const ir::Node& node) {
  const auto data = std::span(node.inputs).first(DataOperands(node));
  return std::any_of(data.begin(), data.end(),
                     [&](ir::ValueId id) { return IsDequantised(editor, id); });
}

bool IsCandidate(const Editor& editor, const ir::Node& node) {
  return !node.dead && MovesOrSelects(node) && ReadsDequantised(editor, node);
}

}  // namespace

Result<bool> MoveBytes(ir::Graph& graph) {
  if (!HasOp(graph, {"DequantizeLinear"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!IsCandidate(editor, editor.node(id))) continue;
    const Result<Operands> operands = ReadOperands(editor, editor.node(id));
    if (operands.ok()) {
      MoveBehind(editor, id, *operands);
    } else if (editor.node(id).op == "Concat"_op) {
      const Result<ir::NodeId> quantiser = QuantiserBehind(editor, editor.node(id));
      if (quantiser.ok()) MoveBefore(editor, id, *quantiser);
    }
  }
  return editor.Finish();
}

std::vector<MovedInFloat> ListMovedInFloat(const ir::Graph& graph) {
  ir::Graph copy = graph;
  const Editor editor(copy);
  std::vector<MovedInFloat> list;
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    if (!IsCandidate(editor, editor.node(id))) continue;
    const Status kept = ReadOperands(editor, editor.node(id)).status();
    if (!kept.ok()) list.push_back({id, kept.message()});
  }
  return list;
}

}  // namespace fettle::passes
