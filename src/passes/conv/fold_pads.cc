#include "passes/conv/fold_pads.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/edit/pads.h"

namespace fettle::passes {
namespace {

bool IsZeroPoint(const Editor& editor, ir::ValueId id) {
  if (id == ir::kAbsent) return true;
  const Constant* zero = ConstantOf(editor.graph(), id);
  return zero != nullptr && UniformValue(*zero) == 0.0;
}

bool AveragesOverPads(const ir::Node& node, const std::vector<int64_t>& own,
                      const std::vector<int64_t>& merged) {
  const std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape");
  if (node.attributes.Int("ceil_mode", 0) != 0 || kernel.size() * 2 != own.size()) return false;
  const bool none = std::all_of(own.begin(), own.end(), [](int64_t pad) { return pad == 0; });
  if (!none && node.attributes.Int("count_include_pad", 0) == 0) return false;
  for (size_t i = 0; i < merged.size(); ++i) {
    if (merged[i] >= kernel[i % kernel.size()]) return false;
  }
  return true;
}

/// Makes `reader` pad by itself and read `x`.
void MergeInto(Editor& editor, ir::NodeId reader, ir::ValueId padded, ir::ValueId x,
               const std::vector<int64_t>& all) {
  const ir::Node& node = editor.node(reader);
  const size_t rank = all.size() / 2, spatial = rank - 2;
  if (node.inputs[0] != padded || std::count(node.inputs.begin(), node.inputs.end(), padded) != 1) {
    return;
  }
  const auto own = WindowPads(node, spatial);
  if (!own) return;
  std::vector<int64_t> merged = *own;
  for (size_t i = 0; i < spatial; ++i) {
    merged[i] += all[i + 2];
    merged[i + spatial] += all[rank + i + 2];
  }
  const bool is_average = node.op == "AveragePool"_op;
  const bool fits = node.op == "Conv"_op ||
                    (node.op == "ConvInteger"_op && IsZeroPoint(editor, node.input(2))) ||
                    (is_average && AveragesOverPads(node, *own, merged));
  if (!fits) return;
  editor.SetAttribute(reader, "auto_pad", std::string("NOTSET"));
  editor.SetAttribute(reader, "pads", merged);
  if (is_average) editor.SetAttribute(reader, "count_include_pad", int64_t{1});
  editor.SetInput(reader, 0, x);
}

}  // namespace

Result<bool> FoldPads(ir::Graph& graph) {
  if (!HasOp(graph, {"Pad"_op})) return false;
  Editor editor(graph);
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    if (editor.node(id).dead || editor.node(id).op != "Pad"_op) continue;
    const auto pads = ReadSpatialPads(editor.graph(), editor.node(id));
    if (!pads || pads->fill != 0) continue;
    const ir::ValueId padded = editor.node(id).outputs[0], x = editor.node(id).inputs[0];
    const std::vector<ir::NodeId> readers = editor.Readers(padded);
    for (ir::NodeId reader : readers) MergeInto(editor, reader, padded, x, pads->all);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
