// Cases as the harness sees them: the values of every node, computed by the oracle once, and the
// groups that a case's nodes give.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "ir/noise.h"
#include "ir/text.h"
#include "kernels/check/tolerance.h"
#include "ops/cases.h"
#include "ops/macs.h"
#include "ops/op.h"

namespace fettle::kernels {

/// Multiply-adds above which the scalar oracle takes too long for a test.
inline constexpr int64_t kMaxOracleMacs = 60'000'000;

#ifdef FETTLE_SLOWED_TESTS
/// Elements of all values above which instrumented and emulated kernels take a minute for a case
/// that releases run in a second.
inline constexpr int64_t kMaxElements = 1'000'000;
#else
inline constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max();
#endif

/// A case with all its values.
struct EvaluatedCase {
  ir::Graph graph;
  std::vector<Tensor> values;  // by value id
};

/// Runs the oracle of an inferred graph. Fails with kUnsupported where it is too large; the reason
/// is the message.
inline Result<EvaluatedCase> EvaluateGraph(ir::Graph graph, const std::vector<Tensor>& inputs) {
  const int64_t macs = ops::MacsOf(graph);
  if (macs > kMaxOracleMacs)
    return Unsupported("{} M multiply-adds are too many for the oracle", macs / 1'000'000);
  int64_t elements = 0;
  for (const ir::Value& value : graph.values())
    elements += value.has_concrete_shape() ? value.shape->elements() : 0;
  if (elements > kMaxElements && std::getenv("FETTLE_FULL_TESTS") == nullptr)
    return Unsupported("{} k elements are left to releases", elements / 1'000);
  EvaluatedCase evaluated{std::move(graph), {}};
  evaluated.values.resize(evaluated.graph.values().size());
  for (size_t i = 0; i < inputs.size(); ++i)
    evaluated.values[static_cast<size_t>(evaluated.graph.inputs[i])] = inputs[i];
  for (size_t i = 0; i < evaluated.values.size(); ++i) {
    const ir::Value& value = evaluated.graph.value(static_cast<ir::ValueId>(i));
    if (!value.is_constant()) continue;
    ASSIGN_OR_RETURN(evaluated.values[i], value.constant->ToTensor());
  }
  for (const ir::Node& node : evaluated.graph.nodes()) {
    std::vector<Tensor> operands;
    for (ir::ValueId id : node.inputs)
      operands.push_back(id == ir::kAbsent ? Tensor() : evaluated.values[static_cast<size_t>(id)]);
    ASSIGN_OR_RETURN(const std::vector<Tensor> results, ops::Evaluate(node, operands));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != ir::kAbsent)
        evaluated.values[static_cast<size_t>(node.outputs[i])] = results[i];
    }
  }
  return evaluated;
}

/// Runs the oracle of a case on noise. Fails with kUnsupported where shapes depend on data or the
/// case is too large; the reason is the message.
inline Result<EvaluatedCase> EvaluateCase(const ops::Case& test) {
  ir::NoiseHints hints;
  ASSIGN_OR_RETURN(ir::Graph graph, ops::Parse(test.graph, &hints));
  RETURN_IF_ERROR(ops::InferGraph(graph));
  ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, ir::NoiseInputs(graph, 1, hints));
  return EvaluateGraph(std::move(graph), inputs);
}

/// A group of a case: a graph of its own, and its operands as computed by the oracle.
struct CaseGroup {
  std::shared_ptr<ir::Graph> graph;
  std::vector<Tensor> inputs, outputs;
};

/// Nodes [begin, end) of a case as a group.
inline CaseGroup MakeGroup(const EvaluatedCase& evaluated, size_t begin, size_t end) {
  const ir::Graph& from = evaluated.graph;
  const std::vector<ir::NodeId> producers = from.Producers();
  const std::vector<std::vector<ir::NodeId>> consumers = from.Consumers();
  CaseGroup group{std::make_shared<ir::Graph>(), {}, {}};
  std::vector<ir::ValueId> renamed(from.values().size(), ir::kAbsent);
  const auto inside = [&](ir::NodeId id) {
    return id >= static_cast<ir::NodeId>(begin) && id < static_cast<ir::NodeId>(end);
  };
  const auto map = [&](ir::ValueId id) {
    if (id == ir::kAbsent) return id;
    const auto at = static_cast<size_t>(id);
    if (renamed[at] != ir::kAbsent) return renamed[at];
    const ir::Value& value = from.value(id);
    renamed[at] = group.graph->AddValue(value);
    if (!value.is_constant() && !inside(producers[at])) {
      group.graph->inputs.push_back(renamed[at]);
      group.inputs.push_back(evaluated.values[at]);
    }
    return renamed[at];
  };
  for (size_t i = begin; i < end; ++i) {
    ir::Node node = from.nodes()[i];
    for (ir::ValueId& id : node.inputs) id = map(id);
    const std::vector<ir::ValueId> outputs = node.outputs;
    for (ir::ValueId& id : node.outputs) id = map(id);
    group.graph->AddNode(node);
    for (ir::ValueId id : outputs) {
      if (id == ir::kAbsent) continue;
      const auto& readers = consumers[static_cast<size_t>(id)];
      const bool leaves =
          std::find(from.outputs.begin(), from.outputs.end(), id) != from.outputs.end() ||
          std::any_of(readers.begin(), readers.end(), [&](ir::NodeId r) { return !inside(r); });
      if (!leaves) continue;
      group.graph->outputs.push_back(renamed[static_cast<size_t>(id)]);
      group.outputs.push_back(evaluated.values[static_cast<size_t>(id)]);
    }
  }
  return group;
}

/// The whole graph of `text` as one group.
inline CaseGroup ParseGroup(std::string_view text) {
  const EvaluatedCase evaluated = EvaluateCase({.name = {}, .graph = text}).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

/// All runs of consecutive nodes of a short case; prefixes and single nodes of a long one.
inline std::vector<CaseGroup> GroupsOf(const EvaluatedCase& evaluated) {
  constexpr size_t kShort = 4;
  const size_t nodes = evaluated.graph.nodes().size();
  std::vector<CaseGroup> groups;
  for (size_t begin = 0; begin < nodes; ++begin) {
    for (size_t end = begin + 1; end <= nodes; ++end) {
      if (nodes <= kShort || begin == 0 || end == begin + 1)
        groups.push_back(MakeGroup(evaluated, begin, end));
    }
  }
  return groups;
}

}  // namespace fettle::kernels
