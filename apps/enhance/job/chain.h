// Chooses the steps, their pixels and their networks.
#pragma once

#include <map>
#include <string>

#include "job/plan.h"

namespace fettle::enhance {

/// Why a step is done or left out, by its name.
using Reasons = std::map<std::string_view, std::string>;

/// Fills the plan's `chain`, `survey`, `source_format` and `first`, whose network stays empty where
/// it is to be chosen. The steps are those of --plan or --steps, else what a survey of the input
/// advises. Throws Failure.
Reasons PlanChain(const JobOptions& options, const AVFrame& frame, Plan& plan);

/// Removes an advised deblock from the chain if it gains nothing on a recoded sample of the clip
/// (job/gain.h), and says so in its reason; else the reason gives the gain.
void LeaveOutUseless(Reasons& reasons, Plan& plan);

/// The gains of steps on samples of the clip, for the table at the end.
void MeasureGains(Plan& plan);

/// Adds a choice with its reason for each step, before all other choices.
void DescribeChain(const Reasons& reasons, Plan& plan);

}  // namespace fettle::enhance
