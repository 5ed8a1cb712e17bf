// ExpertMatMul as OpenCL kernels take it (expert_choices.clh).
#pragma once

#include <vector>

#include "kernels/match/expert_product.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// kUnsupported where there are no rows, or more elements than kernels count in 32 bits.
Result<ExpertGroup> ReadDeviceExperts(const ir::Graph& group);
/// Floats, row-major, beside indices.
Result<std::vector<StateAssignment>> ExpertStates(const ir::Graph& group);

void DefineChoices(const ir::Graph& graph, const ExpertGroup& group, BuildOptions& options);
/// A launch of `kernel` for all columns of all choices.
RecordedLaunch ExpertLaunch(std::shared_ptr<OpenClKernel> kernel, const ExpertGroup& group);
/// The operands behind the weights: choices, counts, y, n.
void AddChoices(const ir::Graph& graph, const ExpertGroup& group, RecordedLaunch& launch);

}  // namespace fettle::kernels
