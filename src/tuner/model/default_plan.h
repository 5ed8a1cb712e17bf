// The plan that a tuned one has to beat: what runs before anything is measured.
#pragma once

#include "runtime/session.h"
#include "tuner/model/recorded_plans.h"
#include "tuner/model/timetable.h"
#include "tuner/network/gate.h"

namespace fettle::tuner {

/// A session that has run, and what it ran on.
struct TriedPlan {
  std::shared_ptr<runtime::Session> session;
  std::shared_ptr<RecordedPlans> plans;
  runtime::TensorMap outputs;
  DefaultRun run;
};

/// Runs `model` on the plans that are the default for `options`: once, and twice where that ends by
/// a deadline (`deadline_ns`, of base/clock.h; 0: none). A lower precision may round values to 16
/// bits, which is slower for some networks: where that happens, or may beside the CPU, `exact`,
/// what high precision came to, runs beside that plan, where there is time, and takes its place if
/// it is faster by `gate`. Where it has no session, the default plan of high precision is prepared
/// for that. So does the CPU's own default plan where accelerators may compute but need not: two
/// devices are not slower than one.
Result<TriedPlan> RunDefaultPlan(const std::shared_ptr<const runtime::Model>& model,
                                 const runtime::SessionOptions& options,
                                 const runtime::TensorMap& inputs, const GateOptions& gate,
                                 int64_t deadline_ns, TriedPlan exact = {});

}  // namespace fettle::tuner
