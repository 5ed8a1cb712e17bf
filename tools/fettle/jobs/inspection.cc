#include "jobs/inspection.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/macs.h"
#include "ops/op.h"
#include "passes/binary/binarise.h"
#include "passes/quantise/byte_moves.h"
#include "passes/specialise.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

double ValueBytes(const ir::Value& value) {
  return value.has_concrete_shape()
             ? static_cast<double>(StorageBytes(value.dtype, value.shape->elements()))
             : 0;
}

bool HasShapes(const ir::Graph& graph, const ir::Node& node) {
  const auto known = [&](ir::ValueId id) {
    return id == ir::kAbsent || graph.value(id).has_concrete_shape();
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), known);
}

/// Fills macs and bytes per operator of a specialised graph.
void AddCosts(const ir::Graph& graph, Inspection& inspection) {
  double total = 0;
  for (const ir::Node& node : graph.nodes()) {
    OpSum& sum = inspection.ops[std::string(node.op)];
    if (!HasShapes(graph, node)) {
      ++inspection.left_out;
      continue;
    }
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (ir::ValueId id : *values)
        if (id != ir::kAbsent) sum.bytes += ValueBytes(graph.value(id));
    }
    const auto macs = static_cast<double>(ops::MacsOf(graph, node));
    sum.macs += macs;
    total += macs;
  }
  inspection.macs = static_cast<int64_t>(total);
  for (const auto& [name, sum] : inspection.ops) inspection.bytes += sum.bytes;
}

/// The model's graph at those shapes.
Result<ir::Graph> GraphAt(const runtime::Model& model, const std::map<std::string, Shape>& given,
                          Inspection& inspection, std::vector<std::string>& warnings) {
  ASSIGN_OR_RETURN(inspection.shapes, runtime::DefaultShapes(model, given, &warnings));
  ir::Graph graph = model.graph();
  for (ir::ValueId id : graph.inputs)
    graph.value(id).shape = inspection.shapes[graph.value(id).name];
  RETURN_IF_ERROR(passes::Specialise(graph));
  return graph;
}

}  // namespace

Result<Inspection> Inspect(const runtime::Model& model, const std::map<std::string, Shape>& given,
                           bool lists_binary, bool is_partial, std::vector<std::string>& warnings) {
  Inspection inspection;
  for (const ir::Node& node : model.graph().nodes()) ++inspection.ops[std::string(node.op)].nodes;
  Result<ir::Graph> specialised = GraphAt(model, given, inspection, warnings);
  if (!specialised.ok() && !is_partial) return specialised.status();
  const ir::Graph& graph = specialised.ok() ? *specialised : model.graph();
  if (specialised.ok()) {
    AddCosts(graph, inspection);
  } else {
    warnings.push_back(fmt::format("costs are left out: {}", specialised.status().message()));
  }
  for (const auto& [id, reason] : passes::ListMovedInFloat(graph))
    inspection.in_floats.push_back({graph.node(id).name, std::string(graph.node(id).op), reason});
  if (lists_binary) {
    for (const auto& [id, is_binary, text] : passes::ListBinary(graph)) {
      const ir::Node& node = graph.node(id);
      inspection.on_bits.push_back({node.name, std::string(node.op), is_binary, text});
    }
  }
  if (inspection.left_out > 0) {
    warnings.push_back(fmt::format("the shapes of {} depend on data; the costs are left out",
                                   Count(inspection.left_out, "node")));
  }
  return inspection;
}

}  // namespace fettle::tools
