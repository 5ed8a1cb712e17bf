// What runs on bits after the passes, in words.
#include "ops/op.h"
#include "passes/binary/binarise.h"
#include "passes/binary/transposed.h"
#include "passes/binary/two_valued.h"

namespace fettle::passes {
namespace {

using Producers = IdVector<ir::ValueId, ir::NodeId>;

/// The node that bits come from, behind what moves or pools them; null for an input of the graph.
const ir::Node* SourceOf(const ir::Graph& graph, const Producers& producers, ir::ValueId bits) {
  while (producers[bits] >= 0) {
    const ir::Node& node = graph.node(producers[bits]);
    if (node.op != "BinaryMaxPool"_op && node.op != "Reshape"_op) return &node;
    bits = node.inputs[0];
  }
  return nullptr;
}

/// "{-1, 1} x {-0.5, 0.5}, 576 bits a sum; results are bits".
std::string Describe(const ir::Graph& graph, const Producers& producers, const ir::Node& node) {
  const Constant& words = *graph.value(node.inputs[1]).constant;
  const Constant& results = *graph.value(node.inputs[2]).constant;
  const ir::Attributes& attributes = node.attributes;
  const int64_t channels = attributes.Int("channels") / attributes.Int("group", 1);
  const int64_t taps = words.shape().Count(1, words.shape().rank() - 1);
  const ir::Node* const source = SourceOf(graph, producers, node.inputs[0]);
  const bool is_masked = source != nullptr && source->op == "Concat"_op;
  const bool is_lenient = source != nullptr && source->attributes.Int("lenient") != 0;
  const std::string pair =
      fmt::format("{}, {}", attributes.Float("x_zero"), attributes.Float("x_one"));
  std::string text =
      fmt::format("{} on bits: {{{}}} x ", is_lenient ? "lenient, Sign(0) is 1," : "exact",
                  is_masked ? "-1, 0, 1" : pair);
  if (results.dtype() == DType::kI32) {
    text += fmt::format("{} values, {} bits a sum, results are bits by thresholds",
                        attributes.Int("w_unipolar") != 0 ? "{0, w}" : "{-w, w}", channels * taps);
  } else {
    text += fmt::format("{{{}, {}}}{}, {} bits a sum", results.GetDouble(0),
                        results.GetDouble(words.shape()[0]),
                        words.shape()[0] > 1 ? " (output 0)" : "", channels * taps);
  }
  if (is_masked) text += ", in a plane of 1 and one of -1";
  return text;
}

/// What holds where only the weights of a product have two values.
std::string OfWeightsAlone(const ir::Graph& graph, const Producers& producers, ir::NodeId id) {
  std::string why;
  const ir::ValueId x = ProductInput(graph.node(id));
  if (graph.value(x).is_constant() || !ReadBinaryProduct(graph, id, -1, 1, why)) return {};
  const bool is_bytes = producers[x] >= 0 && graph.node(producers[x]).op == "DequantizeLinear"_op;
  return is_bytes
             ? "; its weights are: bits that choose bytes where that is faster (cpu.binary.bytes)"
             : "; its weights are: adds by their bits where that is faster (cpu.binary.weights)";
}

}  // namespace

std::vector<BinaryFact> ListBinary(const ir::Graph& graph) {
  const TwoValuedAnalysis analysis(graph);
  const Producers producers = graph.Producers();
  std::vector<BinaryFact> facts;
  for (ir::NodeId id : graph.nodes().ids()) {
    const ir::Node& node = graph.node(id);
    if (node.op == "BinaryConv"_op || node.op == "BinaryMatMul"_op) {
      facts.push_back({id, true, Describe(graph, producers, node)});
    } else if (IsProduct(node)) {
      facts.push_back({id, false, analysis.Why(id) + OfWeightsAlone(graph, producers, id)});
    } else if (node.op == "ConvTranspose"_op) {
      facts.push_back({id, false, WhyNotSplit(graph, analysis, id)});
    }
  }
  return facts;
}

}  // namespace fettle::passes
