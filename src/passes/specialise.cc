#include "passes/specialise.h"

#include <utility>

#include "passes/clean/dead_code.h"

namespace fettle::passes {

namespace {

Status CheckInputs(const ir::Graph& graph) {
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    if (!value.has_concrete_shape() || value.dtype == DType::kUndefined) {
      return InvalidArgument("graph input '{}' needs a type and a concrete shape", value.name);
    }
  }
  return OkStatus();
}

/// Runs the passes that `history`, or else `options`, says, and answers how often each changed the
/// graph.
Result<std::vector<int>> RunPassesBy(PassHistory* history, ir::Graph& graph,
                                     const PipelineOptions& options) {
  std::vector<int> fired;
  PipelineOptions passes{.verify = options.verify, .fired = &fired, .chosen = options.chosen};
  Outline outline;
  if (history != nullptr) {
    outline = Outline(graph);
    passes.chosen = history->ChosenFor(outline);
  }
  RETURN_IF_ERROR(RunPasses(graph, passes));
  if (history != nullptr && passes.chosen.empty()) history->Keep(std::move(outline), fired);
  return fired;
}

}  // namespace

Status Specialise(ir::Graph& graph, std::vector<Pending>* pending, const PipelineOptions& options,
                  PassHistory* history) {
  RETURN_IF_ERROR(CheckInputs(graph));
  ASSIGN_OR_RETURN(std::vector<Pending> waiting, SweepAll(graph, options));
  ASSIGN_OR_RETURN(const std::vector<int> fired, RunPassesBy(history, graph, options));
  if (options.fired != nullptr) {
    options.fired->resize(Passes().size());
    for (size_t i = 0; i < fired.size(); ++i) (*options.fired)[i] += fired[i];
  }
  if (!fired.empty()) {  // else what the sweep found still holds
    ASSIGN_OR_RETURN(waiting, SweepAll(graph, options, /*trusts_shapes=*/true));
    // What folding made superfluous goes; ids change with it.
    ASSIGN_OR_RETURN(const bool removed, RemoveDeadCode(graph));
    if (removed && pending != nullptr) {
      ASSIGN_OR_RETURN(waiting, SweepAll(graph, options));
    }
  }
  if (pending != nullptr) *pending = std::move(waiting);
  return OkStatus();
}

}  // namespace fettle::passes
