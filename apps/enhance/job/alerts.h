// How a job handles the finds of its alert step.
#pragma once

#include <optional>
#include <string>

#include "job/job_folder.h"
#include "job/plan.h"

namespace fettle::enhance {

/// Fills the plan's `alerts_only`, `alerts`, `alert_file` and `first.least_score` where its chain
/// has the step. Throws Failure (kExitUsage) where options want what the chain does not have, or
/// the file is somebody's.
void PlanAlerts(const JobOptions& options, Plan& plan);

/// Where the step's finds go, after those of the folder's segments; none without the step. Throws
/// Failure where the folder's rows cannot be read.
std::optional<Trail> TrailOf(const Plan& plan, const JobFolder& folder);
/// The same for a picture.
std::optional<Trail> TrailOf(const Plan& plan);

/// The side file's whole text: one JSON document, described in docs/enhance.md. `seconds` is the
/// unit of the trail's times.
std::string AlertsText(const Plan& plan, Trail& trail, double seconds);

}  // namespace fettle::enhance
