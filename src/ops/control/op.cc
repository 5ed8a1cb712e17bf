// If, Loop and Scan: operators that run sub-graphs. The runtime runs them; here are their import
// rules, which check that node and sub-graphs fit, so that whoever runs them need not.
//   If(cond, captures...) {then_branch, else_branch, captures=k}
//   Loop(M?, cond?, carried..., captures...) {body, captures=k}
//     body: iter, cond, carried..., captures... -> cond, carried..., scanned...
//   Scan(states..., scanned..., captures...) {body, num_scan_inputs, captures=k, axes, directions}
//     body: states..., slices..., captures... -> states..., slices...
#include "ops/op.h"

#include <algorithm>

#include "ops/import.h"

namespace fettle::ops {
namespace {

/// What comes out of a sub-graph depends on what goes in: no shape is known before it has run.
Status InferControl(InferContext& context) {
  context.MarkDataDependent(0);
  return OkStatus();
}

Result<std::shared_ptr<const ir::Graph>> SubGraph(const ImportContext& context,
                                                  std::string_view name, size_t inputs) {
  std::shared_ptr<const ir::Graph> graph = context.attributes().SubGraph(name);
  if (graph == nullptr) return InvalidModel("attribute '{}': expected a graph", name);
  if (graph->inputs.size() != inputs) {
    const size_t captures = context.attributes().Int("captures");
    return InvalidModel("attribute '{}': the graph takes {} inputs, expected {}", name,
                        graph->inputs.size() - captures, inputs - captures);
  }
  return graph;
}

/// The node's inputs without the captured values behind them.
size_t OwnInputs(const ImportContext& context) {
  return context.num_inputs() - context.attributes().Int("captures");
}

/// Emits the node with as many outputs as its sub-graph gives, and binds those that are used.
Status EmitControl(ImportContext& context, std::string_view op, std::vector<ir::ValueId> inputs,
                   size_t outputs) {
  if (context.num_outputs() > outputs) {
    return InvalidModel("the sub-graph gives {} outputs, the node names {}", outputs,
                        context.num_outputs());
  }
  const std::vector<ir::ValueId> results =
      context.Emit(op, std::move(inputs), context.attributes(), outputs);
  for (size_t i = 0; i < context.num_outputs(); ++i) context.Bind(i, results[i]);
  return OkStatus();
}

Status ImportIf(ImportContext& context) {
  if (OwnInputs(context) != 1 || !context.has_input(0))
    return InvalidModel("expected 1 input, got {}", OwnInputs(context));
  const size_t captures = context.num_inputs() - 1;
  ASSIGN_OR_RETURN(const auto then_branch, SubGraph(context, "then_branch", captures));
  ASSIGN_OR_RETURN(const auto else_branch, SubGraph(context, "else_branch", captures));
  if (then_branch->outputs.size() != else_branch->outputs.size()) {
    return InvalidModel("the branches give {} and {} outputs", then_branch->outputs.size(),
                        else_branch->outputs.size());
  }
  return EmitControl(context, "If", context.node().inputs, then_branch->outputs.size());
}

Status ImportLoop(ImportContext& context) {
  std::vector<ir::ValueId> inputs = context.node().inputs;
  size_t own = OwnInputs(context);
  for (; own < 2; ++own) inputs.insert(inputs.begin() + static_cast<ptrdiff_t>(own), ir::kAbsent);
  const size_t carried = own - 2;
  if (std::count(inputs.begin() + 2, inputs.end(), ir::kAbsent) > 0)
    return InvalidModel("a loop-carried input is left out");
  ASSIGN_OR_RETURN(const auto body, SubGraph(context, "body", inputs.size()));
  if (body->outputs.size() < 1 + carried) {
    return InvalidModel("attribute 'body': the graph gives {} outputs, expected {} or more",
                        body->outputs.size(), 1 + carried);
  }
  return EmitControl(context, "Loop", std::move(inputs), body->outputs.size() - 1);
}

Status CheckLength(const ImportContext& context, std::string_view name, size_t length) {
  const size_t given = context.attributes().Ints(name).size();
  if (given == 0 || given == length) return OkStatus();
  return InvalidModel("attribute '{}': expected {} values, got {}", name, length, given);
}

Status ImportScan(ImportContext& context) {
  const std::vector<ir::ValueId>& inputs = context.node().inputs;
  const auto own = static_cast<int64_t>(OwnInputs(context));
  const int64_t scanned = context.attributes().Int("num_scan_inputs");
  if (scanned < 1 || scanned > own) {
    return InvalidModel("attribute 'num_scan_inputs': expected 1 to {}, got {}", own, scanned);
  }
  if (std::count(inputs.begin(), inputs.end(), ir::kAbsent) > 0)
    return InvalidModel("an input is left out");
  ASSIGN_OR_RETURN(const auto body, SubGraph(context, "body", inputs.size()));
  const size_t states = own - scanned;
  if (body->outputs.size() < states) {
    return InvalidModel("attribute 'body': the graph gives {} outputs, expected {} or more",
                        body->outputs.size(), states);
  }
  const size_t slices = body->outputs.size() - states;
  for (std::string_view name : {"scan_input_axes", "scan_input_directions"})
    RETURN_IF_ERROR(CheckLength(context, name, scanned));
  for (std::string_view name : {"scan_output_axes", "scan_output_directions"})
    RETURN_IF_ERROR(CheckLength(context, name, slices));
  return EmitControl(context, "Scan", inputs, body->outputs.size());
}

constexpr ImportRule kIfImports[] = {{.op_type = "If", .run = ImportIf}};
constexpr ImportRule kLoopImports[] = {{.op_type = "Loop", .run = ImportLoop}};
constexpr ImportRule kScanImports[] = {{.op_type = "Scan", .since = 9, .run = ImportScan}};

constexpr Operator ControlOp(std::string_view name, std::span<const ImportRule> imports) {
  return {{.name = name,
           .traits = {Trait::kControl},
           .min_inputs = 0,
           .max_inputs = -1,
           .max_outputs = -1},
          {.infer = InferControl,
           .imports = imports,
           .types = "all",
           .refused = "sequences and optionals"}};
}

}  // namespace

std::span<const Operator> ControlOps() {
  static const Operator kOps[] = {
      ControlOp("If", kIfImports),
      ControlOp("Loop", kLoopImports),
      ControlOp("Scan", kScanImports),
  };
  return kOps;
}

}  // namespace fettle::ops
