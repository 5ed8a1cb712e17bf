// The comparison of whole runs, and what is learned from it.
#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/tuning/model_tuner.h"
#include "runtime/tuning/waited_steps.h"
#include "tuner/cost/host_pace.h"
#include "tuner/cost/run_overhead.h"
#include "tuner/measure/interruptions.h"
#include "tuner/measure/statistics.h"
#include "tuner/measure/workbench.h"

namespace fettle::runtime {
namespace {

int64_t Held(const Session& session) {
  return session.memory().arena_bytes + session.memory().device_bytes;
}

/// Until all lanes that run the session have a core.
void AwaitLanes(const Session& session) {
  const auto& cpu = static_cast<const CpuDevice&>(session.devices().cpu());
  const int lanes = std::min(session.limits().threads, cpu.pool().threads());
  tuner::Muster muster(lanes, cpu.info());
  cpu.pool().ParallelFor(lanes, lanes, [&](int64_t, int) { muster.Meet(); });
}

/// Whether all devices beside the CPU work on its cores, so that WaitedTimes are those of runs.
bool ShareCores(const DeviceSet& devices) {
  const auto apart = [](const Device* device) {
    const auto stream = device->NewStream({});
    return !stream.ok() || tuner::WorksApart(**stream);
  };
  return !devices.beside_cpu().empty() && std::ranges::none_of(devices.beside_cpu(), apart);
}

}  // namespace

void ModelTuner::KnowOnlyDefault(const Timetable& timetable) {
  double run_us = default_.run.run_seconds * 1e6;
  const std::vector<double> more_us = RunDefaultAgain(timetable);
  if (!more_us.empty()) run_us = tuner::Summarise(more_us).median;
  result_.gate.incumbent_us = result_.gate.challenger_us = run_us;
  tuned_times_ = {};
  const DeviceSet devices = default_.session->devices();
  const auto accelerators = devices.beside_cpu();
  if (!more_us.empty() && accelerators.size() == 1) {
    LearnHostPace(*accelerators.front());
    LearnRunOverhead(*accelerators.front(), default_.plans, run_us);
  }
  AcceptForMemory();
}

std::vector<double> ModelTuner::RunDefaultAgain(const Timetable& timetable) {
  // Next to nothing beside what a comparison takes, whose tuned plan has to be prepared.
  constexpr int kRuns = 15;
  constexpr double kFewSeconds = 0.1, kShareOfTime = 0.05;
  std::vector<double> us;
  preferred_times_ = {};
  const double left = timetable.gate_until_ns > 0 ? timetable.GateSeconds(NowNs()) : kFewSeconds;
  const double seconds = std::min(left, std::max(kFewSeconds, kShareOfTime * left));
  if (kRuns * default_.run.run_seconds > seconds) return us;
  const int64_t first = NowNs();
  for (int i = 0; i < kRuns && !IsCancelled(); ++i) {
    const int64_t begin = NowNs();
    if (Seconds(begin - first) > seconds) break;
    if (!default_.session->Run(inputs_, &default_.outputs).ok()) return {};
    us.push_back(static_cast<double>(NowNs() - begin) * 1e-3);
    preferred_times_.Add(default_.session->profile());
  }
  return us;
}

Status ModelTuner::RunGate(const Timetable& timetable) {
  tuner::GateOptions gate = options_.gate;
  gate.warms_up = false;
  if (!gate.now_ns) {
    gate.interruptions = tuner::Interruptions;
    gate.prepare = [this] { AwaitLanes(*tuned_); };
  }
  if (options_.deadline_ns > 0) {
    const double left = timetable.GateSeconds(NowNs());
    const double kept = ShareCores(tuned_->devices()) ? WaitedSeconds(default_.run) : 0;
    gate.seconds = std::min(gate.seconds, std::max(left - kept, left / 2));
  }
  StepTimes preferred, tuned;
  gate.observe = [&](bool challenger) {
    (challenger ? tuned : preferred).Add((challenger ? tuned_ : default_.session)->profile());
  };
  ASSIGN_OR_RETURN(result_.gate,
                   tuner::RunGate([&] { return default_.session->Run(inputs_, &default_.outputs); },
                                  [&] { return tuned_->Run(inputs_, &got_); }, gate));
  preferred_times_ = std::move(preferred);
  tuned_times_ = std::move(tuned);
  if (result_.gate.pairs == 0) KnowOnlyDefault(timetable);
  AcceptForMemory();
  if (preferred_accuracy_.ok || result_.gate.accepted) return OkStatus();
  result_.gate.accepted = true;
  result_.gate.reason = "the default plan loses too much: " + preferred_accuracy_.reason;
  return OkStatus();
}

void ModelTuner::AcceptForMemory() {
  const int64_t limit = tune_.bounds.memory_limit;
  if (limit < 0) return;
  if (Held(*tuned_) > limit)
    Log(LogLevel::kWarn,
        "what the plan holds fits into {} bytes, but lies in {}: its parts leave gaps", limit,
        Held(*tuned_));
  if (result_.gate.accepted || Held(*default_.session) <= limit) return;
  result_.gate.accepted = true;
  result_.gate.reason = fmt::format("the default plan needs {} bytes, over the limit of {}",
                                    Held(*default_.session), limit);
}

Status ModelTuner::Calibrate(const Timetable& timetable) {
  if (result_.gate.pairs == 0) return RepriceAll();
  const DeviceSet devices = tuned_->devices();
  const auto accelerators = devices.beside_cpu();
  const bool learned = LearnSteps(devices, timetable);
  if (accelerators.size() == 1) {
    LearnHostPace(*accelerators.front());
    LearnRunOverhead(*accelerators.front(), default_.plans, result_.gate.incumbent_us);
    LearnRunOverhead(*accelerators.front(), tuned_plans_, result_.gate.challenger_us);
  }
  return learned || !accelerators.empty() ? RepriceAll() : OkStatus();
}

std::vector<tuner::StepSample> ModelTuner::TimedSteps(const Session& session,
                                                      const std::shared_ptr<RecordedPlans>& plans,
                                                      const StepTimes& times, double run_us,
                                                      const Timetable& timetable) {
  const DeviceSet devices = session.devices();
  const std::string_view cpu = devices.cpu().fingerprint();
  const auto costs = plans->Price(tune_.measure.cold_constants, store_);
  std::vector<tuner::StepSample> samples = times.Samples(costs);
  if (!samples.empty() && ShareCores(devices)) {
    SessionOptions options = options_.session;
    options.precision = session.limits().precision;
    const Result<StepTimes> waited =
        WaitedTimes(model_, std::move(options), plans, inputs_, timetable.gate_until_ns);
    const auto waited_samples =
        waited.ok() ? waited->Samples(costs) : std::vector<tuner::StepSample>();
    if (waited_samples.size() == samples.size())
      return WithWaited(std::move(samples), waited_samples, cpu, run_us);
  }
  std::erase_if(samples, [&](const tuner::StepSample& sample) { return sample.of.device != cpu; });
  return samples;
}

bool ModelTuner::LearnSteps(const DeviceSet& devices, const Timetable& timetable) {
  constexpr double kWorthSolvingAgain = 0.05;
  std::vector<tuner::StepSample> samples =
      TimedSteps(*tuned_, tuned_plans_, tuned_times_, result_.gate.challenger_us, timetable);
  result_.steps_us = 0;
  for (const tuner::StepSample& sample : samples)
    result_.steps_us += (sample.halves_us[0] + sample.halves_us[1]) / 2;
  const std::vector<tuner::StepSample> more = TimedSteps(
      *default_.session, default_.plans, preferred_times_, result_.gate.incumbent_us, timetable);
  samples.insert(samples.end(), more.begin(), more.end());
  if (samples.empty()) return false;
  // The default plan's runs on other devices tell nothing of the CPU's pace.
  samples_.Add(std::move(samples), devices.beside_cpu().empty() ? result_.gate.incumbent_us : 1);
  const tuner::Lesson lesson = lessons_.LearnAnew(samples_.AtOnePace());
  // What an earlier round taught holds on.
  if (lesson.kept || !result_.lesson.kept) result_.lesson = lesson;
  recalibrated_ = lesson.kept && rounds_ == 1 && measured_in_round_ > 0 &&
                  lesson.residual_before - lesson.residual_after > kWorthSolvingAgain;
  return lesson.kept;
}

void ModelTuner::SettlePace() {
  tuner::GateResult& gate = result_.gate;
  if (samples_.least_us() <= 0 || gate.pairs == 0 || !tuned_->devices().beside_cpu().empty())
    return;
  const double pace = std::min(samples_.least_us() / gate.incumbent_us, 1.0);
  gate.incumbent_us *= pace;
  gate.challenger_us *= pace;
}

void ModelTuner::LearnHostPace(const Device& accelerator) {
  for (const auto& [plans, times] :
       {std::pair(default_.plans, &preferred_times_), std::pair(tuned_plans_, &tuned_times_)}) {
    const auto costs = plans->Price(tune_.measure.cold_constants, store_);
    const auto samples = times->Samples(costs);
    double priced_us = 0, seen_us = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (costs[i].host_us <= 0) continue;
      priced_us += costs[i].host_us;
      seen_us += (samples[i].halves_us[0] + samples[i].halves_us[1]) / 2;
    }
    tuner::HostPaces(store_).Learn(accelerator, priced_us, seen_us);
  }
}

void ModelTuner::LearnRunOverhead(const Device& accelerator,
                                  const std::shared_ptr<RecordedPlans>& plans, double run_us) {
  auto sample = plans->Sample(accelerator, tune_.measure.cold_constants, store_);
  if (!sample || run_us <= 0) return;
  sample->run_us = run_us;
  tuner::RunOverheads(store_).Learn(accelerator, *sample);
}

}  // namespace fettle::runtime
