// Every group of a plan against the reference, on the reference's inputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "report/judgement.h"
#include "runtime/session.h"

namespace fettle::tools {

struct NodeComparison {
  std::string node, op, kernel;
  std::string value;  // the worst output of the group
  Judgement judgement;
};

struct NodeComparisons {
  std::vector<NodeComparison> nodes;
  /// Nodes that could not be compared one by one, because a shape depends on data or they run
  /// sub-graphs.
  int64_t left_out = 0;
};

/// Plans the model for these inputs as `session` does before anything is measured, then computes
/// each group twice on what the reference computed for its operands: on the session's devices, and
/// by the scalar references. `progress` gets the share that is done.
Result<NodeComparisons> CompareNodes(const runtime::Model& model,
                                     const std::map<std::string, Tensor>& inputs,
                                     const runtime::Session& session, const Limits& limits,
                                     const std::function<void(double)>& progress);

}  // namespace fettle::tools
