#include "runtime/blocks.h"

#include <unordered_map>

#include "ops/op.h"
#include "runtime/stage.h"

namespace fettle::runtime {
namespace {

constexpr int kNever = -1;

/// Cuts a graph into blocks, of which it knows where each value is written and last read.
class Splitter {
 public:
  explicit Splitter(const ir::Graph& graph)
      : graph_(graph),
        block_of_(graph.nodes().size()),
        written_(graph.values().size(), kNever),
        read_(graph.values().size(), kNever) {
    CountBlocks();
    for (ir::NodeId n : graph_.nodes().ids()) {
      for (ir::ValueId id : graph_.node(n).inputs)
        if (id != ir::kAbsent) read_[id] = block_of_[n];
      for (ir::ValueId id : graph_.node(n).outputs)
        if (id != ir::kAbsent) written_[id] = block_of_[n];
    }
    for (ir::ValueId id : graph_.outputs) read_[id] = blocks_;
  }

  std::vector<Block> Run() const {
    std::vector<std::vector<ir::NodeId>> nodes(blocks_);
    for (ir::NodeId n : graph_.nodes().ids()) nodes[block_of_[n]].push_back(n);
    std::vector<Block> blocks;
    for (int i = 0; i < blocks_; ++i) blocks.push_back(Cut(i, nodes[i]));
    for (ir::ValueId id : graph_.values().ids())
      if (read_[id] >= 0 && read_[id] < blocks_) blocks[read_[id]].done.push_back(id);
    return blocks;
  }

 private:
  void CountBlocks() {
    int control = 0;
    for (ir::NodeId n : graph_.nodes().ids()) {
      if (graph_.node(n).op->Has(ir::Trait::kControl) && ++control > kControlNodes) {
        control = 1;
        ++blocks_;
      }
      block_of_[n] = blocks_;
    }
    ++blocks_;
  }

  Block Cut(int block, const std::vector<ir::NodeId>& nodes) const {
    Block cut;
    auto graph = std::make_shared<ir::Graph>();
    std::unordered_map<ir::ValueId, ir::ValueId> copies;
    const auto import = [&](ir::ValueId& id) {
      if (id == ir::kAbsent) return;
      const auto [copy, is_new] = copies.try_emplace(id, ir::kAbsent);
      if (is_new) {
        copy->second = graph->AddValue(graph_.value(id));
        if (!graph_.value(id).is_constant() && written_[id] != block) {
          graph->inputs.push_back(copy->second);
          cut.inputs.push_back(id);
        }
      }
      id = copy->second;
    };
    for (ir::NodeId n : nodes) {
      ir::Node node = graph_.node(n);
      for (ir::ValueId& id : node.inputs) import(id);
      for (ir::ValueId& id : node.outputs) {
        const ir::ValueId whole = id;
        import(id);
        if (whole == ir::kAbsent || read_[whole] <= block) continue;
        cut.outputs.push_back(whole);
        graph->outputs.push_back(id);
      }
      graph->AddNode(std::move(node));
    }
    cut.graph = std::move(graph);
    return cut;
  }

  const ir::Graph& graph_;
  int blocks_ = 0;
  IdVector<ir::NodeId, int> block_of_;
  IdVector<ir::ValueId, int> written_, read_;  // blocks; of outputs the one behind the last
};

}  // namespace

std::vector<Block> SplitAtControl(const ir::Graph& graph) { return Splitter(graph).Run(); }

BlockRunner::BlockRunner(std::shared_ptr<const ir::Graph> graph, const std::vector<bool>& pinned)
    : inputs_(graph->inputs), outputs_(graph->outputs), constants_(graph->values().size()) {
  for (ir::ValueId id : graph->outputs) constants_[id] = graph->value(id).constant;
  IdVector<ir::ValueId, bool> is_pinned(graph->values().size());
  for (size_t i = 0; i < pinned.size(); ++i) is_pinned[inputs_[i]] = pinned[i];
  blocks_ = SplitAtControl(*graph);
  for (Block& block : blocks_) {
    std::vector<bool> pins;
    for (ir::ValueId id : block.inputs) pins.push_back(is_pinned[id]);
    stages_.push_back(std::make_unique<StageCache>(std::move(block.graph), std::move(pins)));
  }
}

BlockRunner::~BlockRunner() = default;

Result<std::vector<Tensor>> BlockRunner::Run(std::span<const Tensor> inputs, Context& context) {
  IdVector<ir::ValueId, Tensor> values(constants_.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[inputs_[i]] = inputs[i];
  for (size_t b = 0; b < blocks_.size(); ++b) {
    std::vector<Tensor> operands;
    for (ir::ValueId id : blocks_[b].inputs) operands.push_back(values[id]);
    ASSIGN_OR_RETURN(Stage * stage, stages_[b]->Get(operands, context));
    ASSIGN_OR_RETURN(std::vector<Tensor> results, stage->Run(operands, context));
    for (size_t i = 0; i < results.size(); ++i)
      values[blocks_[b].outputs[i]] = std::move(results[i]);
    for (ir::ValueId id : blocks_[b].done) values[id] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (ir::ValueId id : outputs_) {
    if (constants_[id] == nullptr) {
      outputs.push_back(values[id]);
      continue;
    }
    ASSIGN_OR_RETURN(Tensor constant, constants_[id]->ToTensor());
    outputs.push_back(std::move(constant));
  }
  return outputs;
}

}  // namespace fettle::runtime
