#include "tuner/cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "kernels/build_id.h"
#include "tuner/measure/statistics.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Steps of a class that weigh as much as what is known of its like; and of a step itself, which
/// ran many times for one sample, as what is known of its class.
constexpr double kPriorSteps = 3, kPriorOfStep = 0.5;
/// Evidence does not grow beyond so many steps, so that what is new counts.
constexpr double kMostSteps = 64;
/// Nothing in a network is so much faster or slower than alone: such a step was disturbed.
constexpr double kLeastFactor = 0.5, kMostFactor = 3;

constexpr int kParts = 2;
/// All steps, both halves.
constexpr int kAllParts = -1;

std::string StatesText(const ir::Graph& group, const kernels::StateAssignment& states) {
  std::string text;
  const auto add = [&](const std::vector<ir::ValueId>& ids, const std::vector<State>& of) {
    for (size_t i = 0; i < ids.size(); ++i)
      text += (text.empty() ? "" : " ") + StateName(of[i], group.value(ids[i]).shape->rank());
  };
  add(group.inputs, states.inputs);
  text += " ->";
  add(group.outputs, states.outputs);
  return text;
}

/// Something that a step is calibrated with, and by which share it belongs to that.
struct Level {
  RowKey key;
  double share = 1, prior = kPriorSteps;
  bool itself = false;
};

RowKey ClassKey(const StepClass& of) {
  return {.problem = fmt::format("in networks threads {} {}", of.threads, of.states),
          .kernel = of.kernel,
          .version = of.version,
          .device = of.device,
          .protocol = kProtocol,
          .build = kernels::BuildOf(of.kernel)};
}

/// From all kernels to the class itself, those of it that take about as long (between two powers of
/// 4: some of both, so that factors have no steps), and the step alone.
std::vector<Level> Levels(const StepClass& of, double alone_us, std::string_view problem) {
  RowKey all{.problem = fmt::format("in networks threads {}", of.threads),
             .kernel = "calibration",
             .device = of.device,
             .protocol = kProtocol,
             .build = std::string(kernels::Toolchain())};
  const RowKey of_class = ClassKey(of);
  RowKey kernel = of_class;
  kernel.problem = all.problem;
  std::vector<Level> levels = {{std::move(all)}, {std::move(kernel)}, {of_class}};
  const auto add = [&](const std::string& what, double share) -> Level& {
    RowKey key = of_class;
    key.problem += what;
    return levels.emplace_back(Level{std::move(key), share});
  };
  if (alone_us > 0) {
    const double length = std::log2(std::max(alone_us, 1.0)) / 2, shorter = std::floor(length);
    add(fmt::format(" of {} us", 1 << 2 * static_cast<int>(shorter)), 1 - (length - shorter));
    if (length > shorter)
      add(fmt::format(" of {} us", 1 << 2 * (static_cast<int>(shorter) + 1)), length - shorter);
  }
  if (problem.empty()) return levels;
  Level& itself = add(fmt::format(" in {}", problem), 1);
  itself.prior = kPriorOfStep;
  itself.itself = true;
  return levels;
}

double MeanOf(const StepSample& sample, int half) {
  return half == kAllParts ? (sample.halves_us[0] + sample.halves_us[1]) / 2
                           : sample.halves_us[half];
}

bool IsKnown(const StepSample& sample) {
  return sample.alone_us > 0 && sample.halves_us[0] > 0 && sample.halves_us[1] > 0;
}

/// For each sample the part that it is in; those of a class take turns. kNoPart: in none.
constexpr int kNoPart = -2;
std::vector<int> PartsOf(std::span<const StepSample> samples) {
  std::map<RowKey, int> next;
  std::vector<int> folds;
  for (const StepSample& sample : samples) {
    if (!IsKnown(sample)) {
      folds.push_back(kNoPart);
      continue;
    }
    // Classes begin with either part in turns, too.
    const int classes = static_cast<int>(next.size());
    int& fold = next.try_emplace(ClassKey(sample.of), classes).first->second;
    folds.push_back(fold++ % kParts);
  }
  return folds;
}

bool IsIn(int in, int fold) { return in == fold || (fold == kAllParts && in != kNoPart); }

}  // namespace

StepClass ClassOf(const kernels::KernelDesc& kernel, const ir::Graph& group,
                  const kernels::StateAssignment& states, int threads, const Device& device) {
  return {std::string(kernel.name), kernel.version, StatesText(group, states), threads,
          std::string(device.fingerprint())};
}

StepClass ClassOf(int rank, const State& from, const State& to, int threads, const Device& device) {
  return {"cpu.convert", 1, fmt::format("{} ->{}", StateName(from, rank), StateName(to, rank)),
          threads, std::string(device.fingerprint())};
}

/// Of one class: factors weighed by time.
struct Calibrations::Sums {
  double alone_us = 0, network_us = 0, squares = 0, steps = 0;

  void Add(double alone, double network, double share) {
    const double factor = std::clamp(network / alone, kLeastFactor, kMostFactor);
    alone_us += alone * share;
    network_us += factor * alone * share;
    squares += std::log(factor) * std::log(factor) * alone * share;
    steps += share;
  }
  Evidence Finish() const {
    const double mean = std::log(network_us / alone_us);
    const double variance = std::max(squares / alone_us - mean * mean, 0.0);
    return {mean, std::sqrt(variance), steps};
  }
};

Calibrations::Table Calibrations::Summarise(std::span<const StepSample> samples, int fold, int half,
                                            Reach reach) {
  const std::vector<int> folds = PartsOf(samples);
  std::map<RowKey, Sums> sums;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!IsIn(folds[i], fold)) continue;
    for (const Level& level : Levels(samples[i].of, samples[i].alone_us, samples[i].problem))
      if (level.itself == (reach == Reach::kItself))
        sums[level.key].Add(samples[i].alone_us, MeanOf(samples[i], half), level.share);
  }
  Table table;
  for (const auto& [key, sum] : sums) table.emplace(key, sum.Finish());
  return table;
}

const Calibrations::Evidence& Calibrations::Known(const RowKey& key) {
  const auto [it, is_new] = known_.try_emplace(key);
  if (!is_new) return it->second;
  const Result<Row> row = store_.Find(key);
  if (row.ok() && row->status == Row::Status::kOk && row->median_us > 0)
    it->second = {std::log(row->median_us), row->mad_us, static_cast<double>(row->samples)};
  return it->second;
}

Calibrations::Evidence Calibrations::With(const RowKey& key, const Table& fresh) {
  const Evidence& known = Known(key);
  const auto found = fresh.find(key);
  if (found == fresh.end()) return known;
  const Evidence& added = found->second;
  const double steps = known.steps + added.steps;
  const auto mix = [&](double a, double b) { return (a * known.steps + b * added.steps) / steps; };
  return {mix(known.mean, added.mean), mix(known.deviation, added.deviation),
          std::min(steps, kMostSteps)};
}

Calibration Calibrations::Factor(const StepClass& of, double alone_us, std::string_view problem,
                                 const Table& fresh) {
  double mean = 0, error = 0;
  for (const Level& level : Levels(of, alone_us, problem)) {
    const Evidence here = With(level.key, fresh);
    const double trust = level.share * here.steps / (here.steps + level.prior);
    mean += trust * (here.mean - mean);
    error = std::hypot((1 - trust) * error, trust * here.deviation / std::sqrt(here.steps + 1));
  }
  return {std::exp(mean), std::exp(mean - kSure95 * error), std::exp(mean + kSure95 * error),
          static_cast<int>(std::lround(With(ClassKey(of), fresh).steps))};
}

Calibration Calibrations::Of(const StepClass& of, double alone_us, std::string_view problem) {
  return Factor(of, alone_us, problem, {});
}

double Calibrations::Residual(std::span<const StepSample> samples, int fold, int half,
                              const Table& fresh) {
  const std::vector<int> folds = PartsOf(samples);
  double residual = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!IsIn(folds[i], fold)) continue;
    const StepSample& sample = samples[i];
    const double predicted =
        sample.alone_us * Factor(sample.of, sample.alone_us, sample.problem, fresh).factor;
    residual += std::fabs(MeanOf(samples[i], half) - predicted);
  }
  return residual;
}

/// Empty: what steps say of others does not hold.
Calibrations::Table Calibrations::LearnOfOthers(std::span<const StepSample> samples, double total,
                                                Lesson& lesson) {
  for (int fold = 0; fold < kParts; ++fold) {
    for (int half = 0; half < 2; ++half) {
      const Table fresh = Summarise(samples, 1 - fold, 1 - half, Reach::kOthers);
      lesson.residual_before += Residual(samples, fold, half, {}) / total;
      lesson.residual_after += Residual(samples, fold, half, fresh) / total;
    }
  }
  if (lesson.residual_after >= lesson.residual_before) return {};
  return Summarise(samples, kAllParts, kAllParts, Reach::kOthers);
}

void Calibrations::LearnOfItself(std::span<const StepSample> samples, Table& learned) {
  double before = 0, after = 0;
  for (int half = 0; half < 2; ++half) {
    before += Residual(samples, kAllParts, half, learned);
    Table fresh = Summarise(samples, kAllParts, 1 - half, Reach::kItself);
    fresh.insert(learned.begin(), learned.end());
    after += Residual(samples, kAllParts, half, fresh);
  }
  if (after < before) learned.merge(Summarise(samples, kAllParts, kAllParts, Reach::kItself));
}

Lesson Calibrations::Learn(std::span<const StepSample> samples) {
  Lesson lesson;
  double total = 0;
  for (const StepSample& sample : samples) {
    if (!IsKnown(sample)) continue;
    ++lesson.steps;
    total += sample.halves_us[0] + sample.halves_us[1];
  }
  if (lesson.steps < kParts) return lesson;
  Table all = LearnOfOthers(samples, total, lesson);
  LearnOfItself(samples, all);
  lesson.kept = !all.empty();
  for (auto& [key, evidence] : all) {
    before_.emplace(key, Known(key));
    evidence = With(key, all);
  }
  for (const auto& [key, evidence] : all) Put(key, evidence);
  return lesson;
}

/// Of no steps: a row that says nothing.
void Calibrations::Put(const RowKey& key, const Evidence& evidence) {
  const double error = evidence.deviation / std::sqrt(std::max(evidence.steps, 1.0));
  store_.Put(key, {.median_us = std::exp(evidence.mean),
                   .mad_us = evidence.deviation,
                   .low_us = std::exp(evidence.mean - kSure95 * error),
                   .samples = static_cast<int>(std::lround(evidence.steps)),
                   .unix_seconds = std::time(nullptr)});
  known_[key] = evidence;
}

Lesson Calibrations::LearnAnew(std::span<const StepSample> samples) {
  for (const auto& [key, evidence] : std::exchange(before_, {})) Put(key, evidence);
  return Learn(samples);
}

}  // namespace fettle::tuner
