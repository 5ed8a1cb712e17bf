#include "passes/rewrite/growing_concats.h"

#include <algorithm>
#include <map>

#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// What a Concat joined before this pass, and its output.
struct Joined {
  std::vector<ir::ValueId> operands;
  ir::ValueId output;
};

/// The longest of `earlier` that `operands` begin with and go beyond; null where there is none.
const Joined* LongestBeginning(const std::vector<Joined>& earlier,
                               const std::vector<ir::ValueId>& operands) {
  const Joined* longest = nullptr;
  for (const Joined& joined : earlier) {
    const size_t count = joined.operands.size();
    if (count >= operands.size() || (longest != nullptr && count <= longest->operands.size()))
      continue;
    if (std::equal(joined.operands.begin(), joined.operands.end(), operands.begin()))
      longest = &joined;
  }
  return longest;
}

}  // namespace

Result<bool> ShareGrowingConcats(ir::Graph& graph) {
  if (!HasOp(graph, {"Concat"_op})) return false;
  Editor editor(graph);
  // By axis, as it is written, and first operand.
  std::map<std::pair<int64_t, ir::ValueId>, std::vector<Joined>> seen;
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node node = editor.node(id);
    if (node.dead || node.op != "Concat"_op || node.inputs.size() < 2) continue;
    std::vector<Joined>& earlier = seen[{node.attributes.Int("axis", 0), node.inputs[0]}];
    if (const Joined* begin = LongestBeginning(earlier, node.inputs)) {
      std::vector<ir::ValueId> operands = {begin->output};
      operands.insert(operands.end(), node.inputs.begin() + std::ssize(begin->operands),
                      node.inputs.end());
      editor.Replace(id, "Concat"_op, std::move(operands), node.attributes);
    }
    earlier.push_back({node.inputs, node.outputs[0]});
  }
  return editor.Finish();
}

}  // namespace fettle::passes
