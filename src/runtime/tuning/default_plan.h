// The plan that a tuned one has to beat: what runs before anything is measured.
#pragma once

#include "runtime/session.h"
#include "runtime/tuning/recorded_plans.h"
#include "runtime/tuning/timetable.h"
#include "tuner/network/gate.h"

namespace fettle::runtime {

/// A session on default plans that has run.
struct DefaultPlan {
  std::unique_ptr<Session> session;
  std::shared_ptr<RecordedPlans> plans;
  TensorMap outputs;
  DefaultRun run;
};

/// Runs `model` on the plans that are the default for `options`: once, twice where there is a
/// deadline (`deadline_ns`, of base/clock.h; 0: none). Beside the CPU a lower precision may store
/// values in f16, which is slower for some networks: where there is time for it, the default plan
/// of high precision, which `exact_plans` makes, runs beside that one and takes its place if it is
/// faster by `gate`.
Result<DefaultPlan> RunDefaultPlan(const std::shared_ptr<const Model>& model,
                                   const SessionOptions& options, const TensorMap& inputs,
                                   const tuner::GateOptions& gate, int64_t deadline_ns,
                                   std::shared_ptr<planner::PlanSource> exact_plans);

/// The shape of each.
std::map<std::string, Shape> ShapesOf(const TensorMap& tensors);

}  // namespace fettle::runtime
