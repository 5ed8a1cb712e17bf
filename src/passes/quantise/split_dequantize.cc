#include "passes/quantise/split_dequantize.h"

#include <algorithm>

#include "passes/edit/editor.h"

namespace fettle::passes {

Result<bool> SplitDequantize(ir::Graph& graph) {
  if (!HasOp(graph, {"DequantizeLinear"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "DequantizeLinear"_op) continue;
    const ir::ValueId output = editor.node(id).outputs[0];
    const std::vector<ir::NodeId> readers = editor.Readers(output);
    // The first reader keeps the node, unless it is the graph.
    for (size_t i = editor.IsOutput(output) ? 0 : 1; i < readers.size(); ++i) {
      const ir::Node like = editor.node(id);
      const ir::ValueId copy = editor.Add(like, like.op, like.inputs, like.attributes);
      editor.CopyType(output, copy);
      const auto& inputs = editor.node(readers[i]).inputs;
      // A node that reads the value twice is listed twice: each turn takes one operand.
      const auto at = std::find(inputs.rbegin(), inputs.rend(), output);
      editor.SetInput(readers[i], inputs.rend() - at - 1, copy);
    }
  }
  return editor.Finish();
}

}  // namespace fettle::passes
