// What a session is made of, as its model and its options say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace fettle::runtime {

/// The graph to run: the model's own, or, where other values are asked for, one optimised with
/// those as outputs.
Result<std::shared_ptr<const ir::Graph>> GraphFor(const Model& model,
                                                  const std::vector<std::string>& extra_outputs);

/// kInvalidArgument where two devices are of one kind.
Status CheckKinds(const std::vector<std::shared_ptr<const Device>>& accelerators);

std::shared_ptr<planner::PlanSource> PlansFor(const Model& model, const SessionOptions& options);

planner::Limits LimitsOf(const SessionOptions& options, int threads);

}  // namespace fettle::runtime
