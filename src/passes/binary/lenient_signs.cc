#include "passes/binary/lenient_signs.h"

#include <set>

#include "passes/binary/two_valued.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/pipeline.h"

namespace fettle::passes {
namespace {

/// What hands on the values that it reads, so that a Sign may stand before it.
bool HandsOn(const ir::Node& node) {
  return node.op->Has(ir::Trait::kMovesElements) || node.op == "Pad"_op ||
         node.op == "MaxPool"_op || node.op == "Mul"_op || node.op == "Neg"_op;
}

class SignFinder {
 public:
  SignFinder(const Editor& editor, const TwoValuedAnalysis& analysis)
      : editor_(editor), analysis_(analysis) {}

  /// Signs without a proof of two values that lead to `id`.
  void Find(ir::ValueId id, std::set<ir::NodeId>& signs) {
    const ir::NodeId producer = editor_.ProducerId(id);
    if (producer < 0 || analysis_.Find(id) != nullptr || !seen_.insert(producer).second) return;
    const ir::Node& node = editor_.node(producer);
    if (node.op == "Sign"_op && editor_.value(id).dtype == DType::kF32) signs.insert(producer);
    if (!HandsOn(node)) return;
    for (ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent) Find(input, signs);
    }
  }

 private:
  const Editor& editor_;
  const TwoValuedAnalysis& analysis_;
  std::set<ir::NodeId> seen_;
};

}  // namespace

Result<bool> MakeSignsLenient(ir::Graph& graph) {
  if (!HasOp(graph, {"Sign"_op})) return false;
  RETURN_IF_ERROR(SweepAll(graph, {}).status());
  Editor editor(graph);
  const TwoValuedAnalysis analysis(graph);
  std::set<ir::NodeId> signs;
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    std::string why;
    if (node.dead || !IsProduct(node) || analysis.Find(ProductInput(node)) != nullptr ||
        !ReadBinaryProduct(graph, id, -1, 1, why))
      continue;
    SignFinder(editor, analysis).Find(ProductInput(node), signs);
  }
  for (ir::NodeId id : signs) {
    const ir::Node sign = editor.node(id);
    ASSIGN_OR_RETURN(const Constant zero, ConstantFrom(DType::kF32, Shape(), {0}));
    ASSIGN_OR_RETURN(const Constant one, ConstantFrom(DType::kF32, Shape(), {1}));
    ASSIGN_OR_RETURN(const Constant minus, ConstantFrom(DType::kF32, Shape(), {-1}));
    const ir::ValueId at_least =
        editor.Add(sign, "GreaterOrEqual"_op, {sign.inputs[0], editor.AddConstant(zero)},
                   {{"lenient", int64_t{1}}});
    editor.Replace(id, "Where"_op, {at_least, editor.AddConstant(one), editor.AddConstant(minus)});
  }
  return editor.Finish();
}

}  // namespace fettle::passes
