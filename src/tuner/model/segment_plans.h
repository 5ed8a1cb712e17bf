// Texts and times of decisions about segments during tuning.
#pragma once

#include <string>
#include <vector>

#include "runtime/session.h"
#include "tuner/model/tune_model.h"

namespace fettle::tuner {

/// The text of a decision without its times, which change with every lesson.
std::string PlanText(const TunedSegment& segment);

/// Whether both decide the same for the same segments.
bool SamePlan(const std::vector<TunedSegment>& a, const std::vector<TunedSegment>& b);

/// Sets the times of a decision to what the store knows now, and adds up its steps' times alone.
/// False where the time of a step is unknown.
Result<bool> Reprice(TunedSegment& segment, const runtime::Session& session, bool cold_constants,
                     Store& store, double& alone_us);

}  // namespace fettle::tuner
