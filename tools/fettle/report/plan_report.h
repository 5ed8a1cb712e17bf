// How a plan is shown: by group, with what it beat and why the rest was refused.
#pragma once

#include <string>

#include "planner/explain.h"
#include "report/report.h"
#include "report/sort_order.h"
#include "tuner/cost/roofline.h"
#include "tuner/model/tune_model.h"

namespace fettle::tools {

/// The decisions of a tuning as docs/cli.md's row `plan` names them, without runners-up.
Json PlanJson(const tuner::TuneModelResult& result);

/// What the groups of a decision are as steps of a program that has not run: names, kernel, device
/// and type of the first result.
std::vector<exec::StepProfile> StepsOf(const ir::Graph& graph, const planner::Decision& decision);

/// One explained group: {node, op, kernel, params, threads, state_in, state_out, ms, runner_up,
/// ...}; with the fields of its limit where that is not null.
Json ExplainedJson(const planner::Explained& group, const tuner::Limit* limit);
Json ConversionJson(const ir::Graph& graph, const planner::ConversionDecision& conversion);
/// A list of what ConversionJson gives, as a table for people; "" where there are none.
std::string ConversionsText(const Json& conversions);
/// A table of all groups for people. With `limits`, one for each group, why other kernels cannot be
/// too, and what loses most time beyond its limit first unless `sort` says otherwise; without them
/// (empty) in order.
std::string ExplainedText(const std::vector<planner::Explained>& groups,
                          const std::vector<tuner::Limit>& limits,
                          SortOrder sort = SortOrder::kOwn);

}  // namespace fettle::tools
