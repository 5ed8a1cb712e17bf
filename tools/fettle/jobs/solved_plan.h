// What `fettle plan` shows: every segment of a model solved with what is known of costs, and beside
// it the plan that run and bench take.
#pragma once

#include <string>
#include <vector>

#include "foreign/foreign_place.h"
#include "io/plan_problem.h"
#include "jobs/plan_in_use.h"
#include "jobs/tuning.h"
#include "planner/explain.h"
#include "ranges/regime_facts.h"
#include "report/plan_report.h"
#include "solver/problem/problem.h"

namespace fettle::tools {

struct PlanOptions {
  JobOptions job;
  std::string problem, dump_problem, costs, package, facts, solver = "auto", level = "normal";
  double seconds = 60;
  PlanBounds bounds;
  bool explain = false;
  SortOrder sort = SortOrder::kOwn;

  /// "single:NHWC": the best plan whose tensors all lie so.
  bool IsOfOneLayout() const { return solver.starts_with("single:"); }
};

/// All segments of one model, solved.
struct Solved {
  std::vector<planner::Explained> groups;
  Json conversions = Json::array();
  solver::Report report;
  double cost_us = 0, bound_us = 0, alone_us = 0, solve_seconds = 0;
  PlanInUse in_use;
  std::optional<RegimeFacts> regime;  // of the plan in use
  int64_t held_bytes = 0;             // at most, by the segment that holds most; 0: nobody counted
  int64_t before = 0, after = 0, unmeasured = 0;
  /// "predicted from 1234 rows of 3 devices" where the plan comes from those; and for how many
  /// groups they knew the kernel.
  std::string predicted;
  int64_t predicted_groups = 0;
  solver::Problem problem;               // of all segments
  std::vector<exec::StepProfile> steps;  // of all segments
  std::vector<std::string> warnings;
  // Of networks with products on bits: each product, how or why not; what moves floats for bytes.
  std::vector<std::string> notes;

  /// Where it is for a device that is not here: that, and how much was measured there.
  std::shared_ptr<const ForeignPlace> foreign;
  int64_t rows = 0;

  /// "", or how a plan for another device came about.
  std::string ForeignText() const;
  Json ForeignJson() const;

  double gap() const { return cost_us > 0 ? std::max(0.0, 1 - bound_us / cost_us) : 0; }
  bool optimal() const { return gap() < 1e-9; }
};

/// Prepares a session for the segments of the model and solves them; writes the problem where
/// --dump-problem asks for it. `facts` (may be null): for that device, on which nothing runs; the
/// process takes its processor for it from then on.
Result<Solved> SolveModel(const PlanOptions& options, const Job& job,
                          const DeviceFacts* facts = nullptr);

}  // namespace fettle::tools
