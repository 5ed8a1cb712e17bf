// Which steps are done, on which pixels and by which networks.
#pragma once

#include "job/plan.h"

namespace fettle::enhance {

/// Fills the plan's `chain`, `survey`, `source_format` and `first`, and adds a choice with its
/// reason for each step. The steps are those of --plan or --steps, else what a survey of the input
/// advises. Throws Failure.
void PlanChain(const JobOptions& options, const AVFrame& frame, Plan& plan);

}  // namespace fettle::enhance
