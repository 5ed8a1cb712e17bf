#include "tuner/model/run_lessons.h"

#include "tuner/cost/host_pace.h"
#include "tuner/cost/run_overhead.h"
#include "tuner/model/waited_steps.h"

namespace fettle::tuner {
namespace {

double MeanUs(const StepSample& sample) { return (sample.halves_us[0] + sample.halves_us[1]) / 2; }

}  // namespace

std::vector<StepSample> RunLessons::TimedSteps(const SeenRuns& runs, int64_t until_ns) const {
  const DeviceSet devices = runs.session.devices();
  const std::string_view cpu = devices.cpu().fingerprint();
  const auto costs = runs.plans->Price(measure_.cold_constants, task_.store);
  std::vector<StepSample> samples = runs.times.Samples(costs);
  if (!samples.empty() && ShareCores(devices)) {
    runtime::SessionOptions options = task_.options.session;
    options.precision = runs.session.limits().precision;
    const Result<StepTimes> waited =
        WaitedTimes(task_.model, std::move(options), runs.plans, task_.inputs, until_ns);
    const auto waited_samples = waited.ok() ? waited->Samples(costs) : std::vector<StepSample>();
    if (waited_samples.size() == samples.size())
      return WithWaited(std::move(samples), waited_samples, cpu, runs.run_us);
  }
  std::erase_if(samples, [&](const StepSample& sample) { return sample.of.device != cpu; });
  return samples;
}

RunLessons::OfSteps RunLessons::LearnSteps(const SeenRuns& preferred, const SeenRuns& tuned,
                                           int64_t until_ns) {
  OfSteps taught;
  std::vector<StepSample> samples = TimedSteps(tuned, until_ns);
  for (const StepSample& sample : samples) taught.steps_us += MeanUs(sample);
  const std::vector<StepSample> more = TimedSteps(preferred, until_ns);
  samples.insert(samples.end(), more.begin(), more.end());
  if (samples.empty()) return taught;
  // The default plan's runs on other devices tell nothing of the CPU's pace.
  const bool is_cpu_alone = tuned.session.devices().beside_cpu().empty();
  rounds_.Add(std::move(samples), is_cpu_alone ? preferred.run_us : 1);
  taught.lesson = calibrations_.LearnAnew(rounds_.AtOnePace());
  return taught;
}

void RunLessons::LearnAccelerator(const Device& accelerator, std::span<const SeenRuns> runs) {
  for (const SeenRuns& one : runs) {
    const auto costs = one.plans->Price(measure_.cold_constants, task_.store);
    const auto samples = one.times.Samples(costs);
    double priced_us = 0, seen_us = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (costs[i].host_us <= 0) continue;
      priced_us += costs[i].host_us;
      seen_us += MeanUs(samples[i]);
    }
    tuner::HostPaces(task_.store).Learn(accelerator, priced_us, seen_us);
  }
  for (const SeenRuns& one : runs) {
    auto sample = one.plans->Sample(accelerator, measure_.cold_constants, task_.store);
    if (!sample || one.run_us <= 0) continue;
    sample->run_us = one.run_us;
    tuner::RunOverheads(task_.store).Learn(accelerator, *sample);
  }
}

}  // namespace fettle::tuner
