#include "passes/conv/transposed_lines.h"

#include <algorithm>
#include <optional>

#include "ops/conv_transpose/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

constexpr int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// A sum's columns come in vectors of this many on most processors.
constexpr int64_t kColumns = 8;
/// The least factor of fewer sums that pays for moving the output.
constexpr double kLeastGain = 1.5;

/// Rows of `stride` outputs each: row r, phase p is output r * stride + p of the whole result,
/// before it is cropped.
struct Lines {
  int64_t channels, inputs, taps, stride, extent;
  int64_t rows_of_taps;        // taps of a phase, missing ones counted
  int64_t first_row, rows;     // that the output needs
  int64_t pad_begin, pad_end;  // of the Conv
  int64_t crop, output;        // of the rows' outputs
};

std::optional<Lines> LinesOf(const ops::ConvTransposeAttributes& conv, const Shape& x,
                             const Shape& w) {
  Lines lines{
      .channels = w[1], .inputs = w[0], .taps = w[2], .stride = conv.strides[0], .extent = x[2]};
  lines.output = conv.output[0];
  if (lines.output < 1 || conv.pad_begin[0] < 0 || lines.stride < 2) return std::nullopt;
  lines.rows_of_taps = Ceil(lines.taps, lines.stride);
  lines.first_row = conv.pad_begin[0] / lines.stride;
  const int64_t end = Ceil(conv.pad_begin[0] + lines.output, lines.stride);
  lines.rows = end - lines.first_row;
  lines.pad_begin = lines.rows_of_taps - 1 - lines.first_row;
  lines.pad_end = end - lines.extent;
  lines.crop = conv.pad_begin[0] - lines.first_row * lines.stride;
  if (lines.pad_begin < 0 || lines.pad_end < 0) return std::nullopt;
  const auto before = static_cast<double>(Ceil(lines.channels, kColumns) * lines.taps);
  const auto after =
      static_cast<double>(Ceil(lines.channels * lines.stride, kColumns) * lines.rows_of_taps);
  return before >= kLeastGain * after ? std::optional(lines) : std::nullopt;
}

/// [channels * stride, inputs, rows of taps]: taps of a phase, last one first.
Result<Constant> PhaseWeights(const Lines& lines, const Constant& w, DType dtype) {
  std::vector<double> out(lines.channels * lines.stride * lines.inputs * lines.rows_of_taps);
  size_t at = 0;
  for (int64_t c = 0; c < lines.channels; ++c) {
    for (int64_t phase = 0; phase < lines.stride; ++phase) {
      for (int64_t i = 0; i < lines.inputs; ++i) {
        for (int64_t j = 0; j < lines.rows_of_taps; ++j, ++at) {
          const int64_t tap = (lines.rows_of_taps - 1 - j) * lines.stride + phase;
          if (tap < lines.taps) out[at] = w.GetDouble((i * lines.channels + c) * lines.taps + tap);
        }
      }
    }
  }
  return ConstantFrom(dtype, Shape{lines.channels * lines.stride, lines.inputs, lines.rows_of_taps},
                      out);
}

Result<Constant> PhaseBias(const Lines& lines, const Constant& b, DType dtype) {
  std::vector<double> out;
  for (int64_t c = 0; c < lines.channels; ++c) out.insert(out.end(), lines.stride, b.GetDouble(c));
  return ConstantFrom(dtype, Shape{lines.channels * lines.stride}, out);
}

Status Spell(Editor& editor, ir::NodeId id, const Lines& lines) {
  const ir::Node node = editor.node(id);
  const DType dtype = editor.value(node.inputs[0]).dtype;
  const int64_t batch = (*editor.value(node.inputs[0]).shape)[0];
  TypedNodes nodes(editor, node, dtype);
  ASSIGN_OR_RETURN(Constant weights,
                   PhaseWeights(lines, *ConstantOf(editor.graph(), node.inputs[1]), dtype));
  std::vector<ir::ValueId> inputs{node.inputs[0], editor.AddConstant(std::move(weights))};
  if (node.input(2) != ir::kAbsent) {
    ASSIGN_OR_RETURN(Constant bias,
                     PhaseBias(lines, *ConstantOf(editor.graph(), node.inputs[2]), dtype));
    inputs.push_back(editor.AddConstant(std::move(bias)));
  }
  const Dims phases{batch, lines.channels * lines.stride, lines.rows};
  ir::ValueId y = nodes.Add("Conv"_op, std::move(inputs), phases,
                            {{"kernel_shape", std::vector<int64_t>{lines.rows_of_taps}},
                             {"pads", std::vector<int64_t>{lines.pad_begin, lines.pad_end}}});
  y = nodes.Reshape(y, {batch, lines.channels, lines.stride, lines.rows});
  y = nodes.Transpose(y, {batch, lines.channels, lines.rows, lines.stride}, {0, 1, 3, 2});
  y = nodes.Reshape(y, {batch, lines.channels, lines.rows * lines.stride});
  y = nodes.LastAxis(y, lines.crop, lines.crop + lines.output);
  editor.Replace(id, "Identity"_op, {y});
  return OkStatus();
}

std::optional<Lines> Readable(const Editor& editor, const ir::Node& node) {
  const ir::Value &x = editor.value(node.inputs[0]), &w = editor.value(node.inputs[1]);
  const bool known = x.has_concrete_shape() && w.has_concrete_shape() && x.shape->rank() == 3 &&
                     w.shape->rank() == 3 && x.shape->elements() > 0 && w.shape->elements() > 0;
  if (!known || !IsFloat(x.dtype) || ConstantOf(editor.graph(), node.inputs[1]) == nullptr)
    return std::nullopt;
  if (node.input(2) != ir::kAbsent && ConstantOf(editor.graph(), node.inputs[2]) == nullptr)
    return std::nullopt;
  const Result<ops::ConvTransposeAttributes> conv =
      ops::ReadConvTranspose(node, *x.shape, *w.shape);
  if (!conv.ok() || conv->group != 1 || conv->dilations[0] != 1) return std::nullopt;
  return LinesOf(*conv, *x.shape, *w.shape);
}

}  // namespace

Result<bool> SpellTransposedLines(ir::Graph& graph) {
  if (!HasOp(graph, {"ConvTranspose"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "ConvTranspose"_op) continue;
    const std::optional<Lines> lines = Readable(editor, editor.node(id));
    if (lines) RETURN_IF_ERROR(Spell(editor, id, *lines));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
