// The steps of a program as objects: what ran, how long, and what it read from.
#pragma once

#include "model_report/planned_segments.h"
#include "report/report.h"
#include "report/roofline.h"

namespace fettle::tools {

/// One object per step: {node, op, kernel, layout_in, layout_out, dtype, device, ms, gflops, gbps,
/// operations, bytes, ceiling, roofline_share, shape, from[]}; "from" are the indices of steps
/// whose results it reads. Shapes and "from" are empty where `segments` are not what ran.
Json StepsJson(const std::vector<exec::StepProfile>& steps,
               const std::deque<PlannedSegments::Segment>& segments, Roofline& roofline);

/// Whether the steps that ran are those of the segments' plans, in order.
bool AreStepsOfSegments(const std::vector<exec::StepProfile>& steps,
                        const std::deque<PlannedSegments::Segment>& segments);

}  // namespace fettle::tools
