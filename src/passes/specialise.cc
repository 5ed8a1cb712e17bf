#include "passes/specialise.h"

#include "passes/clean/dead_code.h"

namespace fettle::passes {

Status Specialise(ir::Graph& graph, std::vector<Pending>* pending, const PipelineOptions& options) {
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    if (!value.has_concrete_shape() || value.dtype == DType::kUndefined) {
      return InvalidArgument("graph input '{}' needs a type and a concrete shape", value.name);
    }
  }
  ASSIGN_OR_RETURN(std::vector<Pending> waiting, SweepAll(graph, options));
  std::vector<int> fired;
  RETURN_IF_ERROR(RunPasses(graph, {.verify = options.verify, .fired = &fired}));
  if (options.fired != nullptr) {
    options.fired->resize(Passes().size());
    for (size_t i = 0; i < fired.size(); ++i) (*options.fired)[i] += fired[i];
  }
  if (fired.empty()) {  // what the sweep found still holds
    if (pending != nullptr) *pending = std::move(waiting);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(waiting, SweepAll(graph, options));
  // What folding made superfluous goes; ids change with it.
  ASSIGN_OR_RETURN(const bool removed, RemoveDeadCode(graph));
  if (removed) {
    ASSIGN_OR_RETURN(waiting, SweepAll(graph, options));
  }
  if (pending != nullptr) *pending = std::move(waiting);
  return OkStatus();
}

}  // namespace fettle::passes
