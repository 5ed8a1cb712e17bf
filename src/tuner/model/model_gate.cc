// The comparison of whole runs, and what is learned from it.
#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "tuner/measure/interruptions.h"
#include "tuner/measure/statistics.h"
#include "tuner/measure/workbench.h"
#include "tuner/model/model_tuner.h"
#include "tuner/model/waited_steps.h"

namespace fettle::tuner {
namespace {

int64_t Held(const runtime::Session& session) {
  return session.memory().arena_bytes + session.memory().device_bytes;
}

/// Until all lanes that run the session have a core.
void AwaitLanes(const runtime::Session& session) {
  const auto& cpu = static_cast<const CpuDevice&>(session.devices().cpu());
  const int lanes = std::min(session.limits().threads, cpu.pool().threads());
  Muster muster(lanes, cpu.info());
  cpu.pool().ParallelFor(lanes, lanes, [&](int64_t, int) { muster.Meet(); });
}

}  // namespace

void ModelTuner::KnowOnlyDefault(const Timetable& timetable) {
  double run_us = default_.run.run_seconds * 1e6;
  const std::vector<double> more_us = RunDefaultAgain(timetable);
  if (!more_us.empty()) run_us = tuner::Summarise(more_us).median;
  result_.gate.incumbent_us = result_.gate.challenger_us = run_us;
  tuned_times_ = {};
  const SeenRuns runs = DefaultRuns();
  if (!more_us.empty()) LearnAccelerator(default_.session->devices(), {&runs, 1});
  AcceptForMemory();
}

std::vector<double> ModelTuner::RunDefaultAgain(const Timetable& timetable) {
  // Next to nothing beside what a comparison takes, whose tuned plan has to be prepared.
  constexpr int kRuns = 15;
  constexpr double kFewSeconds = 0.1, kShareOfTime = 0.05;
  std::vector<double> us;
  preferred_times_ = {};
  const double left =
      timetable.gate_until_ns > 0 ? timetable.GateSeconds(task_.options.Now()) : kFewSeconds;
  const double seconds = std::min(left, std::max(kFewSeconds, kShareOfTime * left));
  if (kRuns * default_.run.run_seconds > seconds) return us;
  const int64_t first = task_.options.Now();
  for (int i = 0; i < kRuns && !task_.IsCancelled(); ++i) {
    const int64_t begin = task_.options.Now();
    if (Seconds(begin - first) > seconds) break;
    if (!default_.session->Run(task_.inputs, &default_.outputs).ok()) return {};
    us.push_back(static_cast<double>(task_.options.Now() - begin) * 1e-3);
    preferred_times_.Add(default_.session->profile());
  }
  return us;
}

Status ModelTuner::RunGate(const Timetable& timetable) {
  GateOptions gate = task_.options.gate;
  // Both have run, but where runs are recorded they are replayed only after another one.
  gate.warms_up = std::ranges::any_of(tuned_->devices().beside_cpu(), &Device::replays_launches);
  if (!gate.now_ns || gate.await) {
    if (!gate.interruptions) gate.interruptions = Interruptions;
    gate.prepare = [this] { AwaitLanes(*tuned_); };
  }
  if (task_.options.deadline_ns > 0) {
    const double left = timetable.GateSeconds(task_.options.Now());
    const double kept = ShareCores(tuned_->devices()) ? WaitedSeconds(default_.run) : 0;
    gate.seconds = std::min(gate.seconds, std::max(left - kept, left / 2));
  }
  StepTimes preferred, tuned;
  gate.observe = [&](bool challenger) {
    (challenger ? tuned : preferred).Add((challenger ? tuned_ : default_.session)->profile());
  };
  ASSIGN_OR_RETURN(
      result_.gate,
      tuner::RunGate([&] { return default_.session->Run(task_.inputs, &default_.outputs); },
                     [&] { return tuned_->Run(task_.inputs, &got_); }, gate));
  preferred_times_ = std::move(preferred);
  tuned_times_ = std::move(tuned);
  if (result_.gate.pairs == 0) KnowOnlyDefault(timetable);
  AcceptForMemory();
  if (judge_.preferred().ok || result_.gate.accepted) return OkStatus();
  result_.gate.accepted = true;
  result_.gate.reason = "the default plan loses too much: " + judge_.preferred().reason;
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
  constexpr double kWorthSolvingAgain = 0.05;
  if (result_.gate.pairs == 0) return RepriceAll();
  const SeenRuns runs[] = {DefaultRuns(),
                           {*tuned_, tuned_plans_, tuned_times_, result_.gate.challenger_us}};
  const RunLessons::OfSteps taught =
      lessons_.LearnSteps(runs[0], runs[1], task_.options.OnSteadyClock(timetable.gate_until_ns));
  result_.steps_us = taught.steps_us;
  const bool learned = taught.lesson && taught.lesson->kept;
  if (taught.lesson) {
    // What an earlier round taught holds on.
    if (learned || !result_.lesson.kept) result_.lesson = *taught.lesson;
    recalibrated_ =
        learned && rounds_ == 1 && measured_in_round_ > 0 &&
        taught.lesson->residual_before - taught.lesson->residual_after > kWorthSolvingAgain;
  }
  const DeviceSet devices = tuned_->devices();
  LearnAccelerator(devices, runs);
  return learned || !devices.beside_cpu().empty() ? RepriceAll() : OkStatus();
}

SeenRuns ModelTuner::DefaultRuns() const {
  return {*default_.session, default_.plans, preferred_times_, result_.gate.incumbent_us};
}

void ModelTuner::LearnAccelerator(const DeviceSet& devices, std::span<const SeenRuns> runs) {
  const auto accelerators = devices.beside_cpu();
  if (accelerators.size() == 1) lessons_.LearnAccelerator(*accelerators.front(), runs);
}

void ModelTuner::SettlePace() {
  GateResult& gate = result_.gate;
  if (lessons_.least_us() <= 0 || gate.pairs == 0 || !tuned_->devices().beside_cpu().empty())
    return;
  const double pace = std::min(lessons_.least_us() / gate.incumbent_us, 1.0);
  gate.incumbent_us *= pace;
  gate.challenger_us *= pace;
}

}  // namespace fettle::tuner
