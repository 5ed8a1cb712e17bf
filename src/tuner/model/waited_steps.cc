#include "tuner/model/waited_steps.h"

#include <algorithm>

#include "base/clock.h"
#include "planner/planner.h"
#include "tuner/measure/workbench.h"

namespace fettle::tuner {
namespace {

/// That count; another one warms up before.
constexpr int kRuns = 6;

/// Makes the plans that were made before.
class SamePlans final : public planner::PlanSource {
 public:
  explicit SamePlans(std::shared_ptr<RecordedPlans> plans) : plans_(std::move(plans)) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    auto plan = plans_->LastPlan(planner::KeyOf(segment, devices, limits).graph);
    return plan ? *std::move(plan) : planner::MakePlan(segment, devices, limits);
  }

 private:
  std::shared_ptr<RecordedPlans> plans_;
};

}  // namespace

Result<StepTimes> WaitedTimes(const std::shared_ptr<const runtime::Model>& model,
                              runtime::SessionOptions options,
                              const std::shared_ptr<RecordedPlans>& plans,
                              const runtime::TensorMap& inputs, int64_t deadline_ns) {
  const auto is_late = [&](int64_t more_ns) {
    return deadline_ns > 0 && NowNs() + more_ns >= deadline_ns;
  };
  StepTimes times;
  if (is_late(0)) return times;
  options.plans = std::make_shared<SamePlans>(plans);
  options.waits_for_steps = true;
  options.judges_first_run = false;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(model, std::move(options)));
  runtime::TensorMap outputs;
  int64_t run_ns = 0;
  for (int run = 0; run <= kRuns && !is_late(run_ns); ++run) {
    const int64_t begin = NowNs();
    RETURN_IF_ERROR(session->Run(inputs, &outputs));
    run_ns = NowNs() - begin;
    if (run > 0) times.Add(session->profile());  // the first one warms up
  }
  return times;
}

bool ShareCores(const DeviceSet& devices) {
  const auto apart = [](const Device* device) {
    const auto stream = device->NewStream({});
    return !stream.ok() || tuner::WorksApart(**stream);
  };
  return !devices.beside_cpu().empty() && std::ranges::none_of(devices.beside_cpu(), apart);
}

double WaitedSeconds(const DefaultRun& run) {
  return 2 * (run.prepare_seconds + run.first_seconds + kRuns * run.run_seconds);
}

std::vector<StepSample> WithWaited(std::vector<StepSample> samples,
                                   const std::vector<StepSample>& waited, std::string_view cpu,
                                   double run_us) {
  if (waited.size() != samples.size()) return samples;
  double known_us = 0, waited_us = 0, launches = 0;
  const auto mean_us = [](const StepSample& sample) {
    return (sample.halves_us[0] + sample.halves_us[1]) / 2;
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool on_cpu = samples[i].of.device == cpu;
    (on_cpu ? known_us : waited_us) += mean_us(on_cpu ? samples[i] : waited[i]);
    // What nothing runs for takes no time alone.
    launches += !on_cpu && samples[i].alone_us > 0 ? 1 : 0;
  }
  const double beside_us = run_us - known_us - waited_us;
  const double each_us = launches > 0 ? std::max(beside_us, 0.0) / launches : 0;
  const double share =
      waited_us > 0 && beside_us < 0 ? std::max(run_us - known_us, 0.0) / waited_us : 1;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].of.device == cpu) continue;
    const double more_us = samples[i].alone_us > 0 ? each_us : 0;
    for (size_t half = 0; half < 2; ++half)
      samples[i].halves_us[half] = waited[i].halves_us[half] * share + more_us;
  }
  return samples;
}

}  // namespace fettle::tuner
