#include "tuner/model/default_plan.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/plan_accuracy.h"

namespace fettle::tuner {
namespace {

/// Of the time that is left, what finding the default plan may take.
constexpr double kShareOfTime = 0.15;
/// Of the gate's time, what comparing two default plans takes.
constexpr double kShareOfGate = 0.25;

/// That compilers of devices worked for this process so far.
double CompileSeconds(const runtime::SessionOptions& options) {
  double seconds = 0;
  for (const Device* device : options.beside_cpu())
    seconds += device->program_statistics().build_seconds;
  return seconds;
}

/// Whether a run is recorded, so that the driver replays it from then on: which takes longer than
/// the run (exec/graphed_steps.cc).
bool RecordsRuns(const runtime::SessionOptions& options) {
  return std::ranges::any_of(options.beside_cpu(), &Device::replays_launches);
}

/// Further runs, which say more of what a run takes, only where they end by `deadline_ns` (0: none
/// is wanted).
Result<TriedPlan> RunOne(const std::shared_ptr<const runtime::Model>& model,
                         runtime::SessionOptions options, const runtime::TensorMap& inputs,
                         int64_t deadline_ns) {
  TriedPlan made{.plans = std::make_shared<RecordedPlans>(planner::PreferredPlans())};
  options.plans = made.plans;
  options.judges_first_run = false;
  options.adapts_lanes = false;
  // What is compiled once need not be compiled for the tuned plan.
  double begin = Seconds(NowNs()) - CompileSeconds(options);
  const auto lap = [&] {
    const double end = Seconds(NowNs()) - CompileSeconds(options);
    return std::max(end - std::exchange(begin, end), 0.0);
  };
  ASSIGN_OR_RETURN(made.session, runtime::Session::Create(model, options));
  RETURN_IF_ERROR(made.session->Prepare(runtime::ShapesOf(inputs)));
  made.run.prepare_seconds = lap();
  RETURN_IF_ERROR(made.session->Run(inputs, &made.outputs));
  made.run.first_seconds = lap();
  made.run.runs = 1;
  if (deadline_ns == 0) return made;
  made.run.run_seconds = made.run.first_seconds;
  const int most = RecordsRuns(options) ? 3 : 2;
  while (made.run.runs < most && Seconds(deadline_ns - NowNs()) >= made.run.run_seconds) {
    RETURN_IF_ERROR(made.session->Run(inputs, &made.outputs));
    made.run.run_seconds = lap();
    ++made.run.runs;
  }
  return made;
}

/// How long two plans may be compared after `before` seconds; 0: not at all.
double ComparingSeconds(double before, const GateOptions& gate, int64_t deadline_ns) {
  const double wanted = kShareOfGate * gate.seconds;
  if (deadline_ns == 0) return wanted;
  const double spare = kShareOfTime * Seconds(deadline_ns - NowNs());
  return std::min(wanted, std::max(spare - before, 0.0));
}

}  // namespace

Result<TriedPlan> RunDefaultPlan(const std::shared_ptr<const runtime::Model>& model,
                                 const runtime::SessionOptions& options,
                                 const runtime::TensorMap& inputs, const GateOptions& gate,
                                 int64_t deadline_ns, TriedPlan exact) {
  ASSIGN_OR_RETURN(TriedPlan best, RunOne(model, options, inputs, deadline_ns));
  // The faster of the best one and `other`, made for `wanted` in about `seconds` where it has no
  // session.
  const auto race = [&](const runtime::SessionOptions& wanted, TriedPlan other, double seconds,
                        std::string_view name) -> Status {
    GateOptions comparison = gate;
    comparison.seconds =
        ComparingSeconds(other.session == nullptr ? seconds : 0, gate, deadline_ns);
    if (comparison.seconds <= 0) return OkStatus();
    if (other.session == nullptr) {
      ASSIGN_OR_RETURN(other, RunOne(model, wanted, inputs, deadline_ns));
    }
    ASSIGN_OR_RETURN(
        const GateResult result,
        tuner::RunGate([&] { return best.session->Run(inputs, &best.outputs); },
                       [&] { return other.session->Run(inputs, &other.outputs); }, comparison));
    if (!result.accepted) return OkStatus();
    Log(LogLevel::kInfo, "the plan {} takes {:.0f} us, the default one {:.0f} us", name,
        result.challenger_us, result.incumbent_us);
    best = std::move(other);
    return OkStatus();
  };
  const DefaultRun& run = best.run;
  const double another = run.prepare_seconds + run.first_seconds + run.run_seconds;
  runtime::SessionOptions others = options;
  others.precision = planner::Precision::kHigh;
  const bool rounds = std::ranges::any_of(best.session->profile(), runtime::RoundsTo16Bits);
  if (options.precision != planner::Precision::kHigh && (!options.accelerators.empty() || rounds))
    RETURN_IF_ERROR(race(others, std::move(exact), another, "of high precision"));
  if (options.accelerators.empty() || options.accelerator_only) return best;
  others = options;
  others.accelerators.clear();
  // No compiler works for it, which is what most of the first run of a device may be.
  RETURN_IF_ERROR(race(others, {}, run.run_seconds, "of the CPU alone"));
  return best;
}

}  // namespace fettle::tuner
