#include "advice/advise.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "advice/rules.h"
#include "base/clock.h"
#include "jobs/interrupt.h"
#include "model_report/planned_segments.h"
#include "report/judgement.h"
#include "report/progress.h"
#include "tuner/network/gate.h"

namespace fettle::tools {
namespace {

/// What is less than that of the network's time is not worth a measurement.
constexpr double kLeastShare = 0.01;
constexpr double kLeastGain = 0.01;
/// Pairs that a comparison has time for, however long an inference is.
constexpr double kLeastPairs = 16;
constexpr int kMostPairs = 2000;
/// Of the 99 % interval that is aimed at where a gain is printed.
constexpr double kWidthOfGains = 0.01;

int64_t MacsOf(const std::vector<exec::StepProfile>& steps) {
  return std::accumulate(steps.begin(), steps.end(), int64_t{0},
                         [](int64_t sum, const auto& step) { return sum + step.macs; });
}

/// A network on its default plan.
class Runner {
 public:
  static Result<Runner> Create(const Job& job, std::shared_ptr<const runtime::Model> model) {
    Runner runner;
    runner.segments_ = std::make_shared<PlannedSegments>(planner::PreferredPlans());
    runtime::SessionOptions wanted = job.session;
    wanted.plans = runner.segments_;
    wanted.cancelled = &InterruptScope::Flag();
    ASSIGN_OR_RETURN(runner.session_, runtime::Session::Create(std::move(model), wanted));
    runner.inputs_ = job.bound.tensors();
    RETURN_IF_ERROR(runner.Run());
    return runner;
  }
  Status Run() { return session_->Run(inputs_, &outputs_); }
  const std::vector<exec::StepProfile>& steps() const { return session_->profile(); }
  const runtime::TensorMap& outputs() const { return outputs_; }
  const PlannedSegments& segments() const { return *segments_; }

 private:
  Runner() = default;
  std::shared_ptr<PlannedSegments> segments_;
  std::unique_ptr<runtime::Session> session_;
  runtime::TensorMap inputs_, outputs_;
};

Result<Runner> RunnerOf(const Job& job, std::string_view bytes) {
  ASSIGN_OR_RETURN(auto model, runtime::Model::LoadBytes(std::as_bytes(std::span(bytes)), "model"));
  return Runner::Create(job, std::move(model));
}

/// Whether a network that is to compute the same does.
bool Agree(const Runner& before, const Runner& after) {
  for (const auto& [name, want] : before.outputs()) {
    const auto got = after.outputs().find(name);
    if (got == after.outputs().end() || !Judge(got->second, want, {}).ok) return false;
  }
  return true;
}

/// `sure_within`: width of the gain's interval; 0 where it matters only whether there is a gain.
Result<MeasuredChange> Compare(const AdviceOptions& options, Runner& before, Runner& after,
                               double sure_within) {
  MeasuredChange measured{.macs_before = MacsOf(before.steps()),
                          .macs_after = MacsOf(after.steps())};
  double pair_ms = 0;
  for (const auto* steps : {&before.steps(), &after.steps()})
    for (const exec::StepProfile& step : *steps) pair_ms += step.ms;
  const double seconds = std::max(options.seconds, kLeastPairs * pair_ms * 1e-3);
  ASSIGN_OR_RETURN(const tuner::GateResult gate,
                   tuner::RunGate([&] { return before.Run(); }, [&] { return after.Run(); },
                                  {.min_gain = kLeastGain,
                                   .max_pairs = kMostPairs,
                                   .sure_within = sure_within,
                                   .seconds = seconds}));
  measured.ms_before = gate.incumbent_us * 1e-3;
  measured.ms_after = gate.challenger_us * 1e-3;
  measured.ratio = gate.pair_ratio;
  measured.low = gate.low;
  measured.high = gate.high;
  measured.gains = gate.accepted;
  return measured;
}

/// A gain that is printed, measured while no other network is there. Where weights and tensors lie
/// is worth some percent of a short inference and is drawn anew with each session: the gain is the
/// middle one of kDraws, and counts where most of them gain.
Result<MeasuredChange> MeasureGain(const AdviceOptions& options, const Job& job,
                                   std::string_view original, std::string_view changed) {
  constexpr size_t kDraws = 3;
  std::vector<MeasuredChange> draws;
  for (size_t i = 0; i < kDraws; ++i) {
    std::optional<Runner> before, after;
    for (const bool is_changed : {i % 2 == 1, i % 2 == 0}) {
      ASSIGN_OR_RETURN((is_changed ? after : before),
                       RunnerOf(job, is_changed ? changed : original));
    }
    ASSIGN_OR_RETURN(draws.emplace_back(), Compare(options, *before, *after, kWidthOfGains));
  }
  std::ranges::sort(draws, {}, &MeasuredChange::ratio);
  MeasuredChange middle = draws[kDraws / 2];
  for (const MeasuredChange& draw : draws) {
    middle.low = std::min(middle.low, draw.low);
    middle.high = std::max(middle.high, draw.high);
  }
  middle.gains =
      std::ranges::count(draws, true, &MeasuredChange::gains) > static_cast<int64_t>(kDraws / 2);
  return middle;
}

/// The file, what rules look at, and its own runs.
struct Workplace {
  Subject subject;
  std::optional<Runner> runner;
};

std::map<std::string, Shape, std::less<>> ShapesOf(const PlannedSegments& segments) {
  std::map<std::string, Shape, std::less<>> shapes;
  for (const PlannedSegments::Segment& segment : segments.segments())
    for (const ir::Value& value : segment.graph.values())
      if (value.has_concrete_shape() && !value.name.empty())
        shapes.insert_or_assign(value.name, *value.shape);
  return shapes;
}

/// The time of the steps that compute a node, by the node's name: the mean of a few runs.
Result<std::map<std::string, double, std::less<>>> NodeTimes(Runner& runner, double& total_ms) {
  constexpr int kRuns = 5;
  std::map<std::string, double, std::less<>> times;
  for (int i = 0; i < kRuns; ++i) {
    RETURN_IF_ERROR(runner.Run());
    for (const exec::StepProfile& step : runner.steps()) {
      total_ms += step.ms / kRuns;
      for (size_t at = 0; at <= step.node.size();) {
        const size_t end = std::min(step.node.find('+', at), step.node.size());
        times[step.node.substr(at, end - at)] += step.ms / kRuns;
        at = end + 1;
      }
    }
  }
  return times;
}

/// Changes worth a measurement, the slowest places first.
Result<std::vector<Change>> FindChanges(Workplace& place) {
  std::vector<Change> changes, slow;
  RETURN_IF_ERROR(ListChanges(place.subject, changes));
  double total_ms = 0;
  ASSIGN_OR_RETURN(const auto times, NodeTimes(*place.runner, total_ms));
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < changes.size(); ++i) {
    double ms = 0;
    for (size_t node : changes[i].nodes)
      if (const auto found = times.find(place.subject.network.node(node).name);
          found != times.end())
        ms += found->second;
    if (ms >= kLeastShare * total_ms) order.emplace_back(-ms, i);
  }
  std::ranges::stable_sort(order);
  for (const auto& [ms, i] : order) slow.push_back(std::move(changes[i]));
  return slow;
}

/// Whether a change gains, and about how much.
Result<MeasuredChange> TryChange(const AdviceOptions& options, const Job& job, Workplace& place,
                                 const Change& change) {
  const Change* const only = &change;
  ASSIGN_OR_RETURN(const std::string bytes, ApplyChanges(place.subject, std::span(&only, 1)));
  ASSIGN_OR_RETURN(Runner after, RunnerOf(job, bytes));
  if (change.same_function && !Agree(*place.runner, after))
    return Error(StatusCode::kInternal, "its results differ");
  ASSIGN_OR_RETURN(MeasuredChange measured, Compare(options, *place.runner, after, 0));
  measured.change = change;
  return measured;
}

/// Of many that were tried the best look better than they are: what gains is measured anew.
Status MeasureAnew(const AdviceOptions& options, const Job& job, Subject& subject,
                   MeasuredChange& measured) {
  const Change* const only = &measured.change;
  ASSIGN_OR_RETURN(const std::string bytes, ApplyChanges(subject, std::span(&only, 1)));
  ASSIGN_OR_RETURN(MeasuredChange anew, MeasureGain(options, job, subject.network.bytes(), bytes));
  anew.change = std::move(measured.change);
  measured = std::move(anew);
  return OkStatus();
}

std::string Percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, std::abs(share) < 0.0995 ? 1 : 0);
}

}  // namespace

Result<Advice> Advise(const AdviceOptions& options, const Job& job, const ModelFile& file,
                      uint64_t seed) {
  const InterruptScope interrupt([] {});
  ASSIGN_OR_RETURN(const quantise::Network network,
                   quantise::Network::Read(file.bytes(), file.model));
  ASSIGN_OR_RETURN(Runner runner, Runner::Create(job, file.model));
  Workplace place{{network, ShapesOf(runner.segments()), quantise::FreshNames(network), seed},
                  std::move(runner)};
  Advice advice;
  ASSIGN_OR_RETURN(const std::vector<Change> changes, FindChanges(place));
  advice.found = changes.size();
  const int64_t start = NowNs();
  Progress progress("advise", static_cast<int64_t>(changes.size()));
  for (size_t i = 0; i < changes.size(); ++i) {
    if (static_cast<double>(NowNs() - start) * 1e-9 > options.budget) {
      advice.warnings.push_back(
          fmt::format("the budget ended after {} of {} changes", i, changes.size()));
      break;
    }
    progress.Update(static_cast<int64_t>(i));
    Result<MeasuredChange> measured = TryChange(options, job, place, changes[i]);
    if (measured.status().code() == StatusCode::kCancelled) return measured.status();
    if (measured.ok())
      advice.changes.push_back(*std::move(measured));
    else
      advice.warnings.push_back(
          fmt::format("{}: not measured: {}", changes[i].text, measured.status().message()));
  }
  advice.steps = place.runner->steps();
  place.runner.reset();
  for (MeasuredChange& measured : advice.changes)
    if (measured.gains) RETURN_IF_ERROR(MeasureAnew(options, job, place.subject, measured));
  std::ranges::stable_sort(advice.changes, std::greater(), &MeasuredChange::gain);
  for (const exec::StepProfile& step : advice.steps) advice.ms += step.ms;
  if (!advice.changes.empty()) advice.ms = advice.changes[0].ms_before;
  return advice;
}

Result<AppliedAdvice> ApplyAdvice(const AdviceOptions& options, const Job& job,
                                  const ModelFile& file, const Advice& advice, uint64_t seed) {
  const InterruptScope interrupt([] {});
  ASSIGN_OR_RETURN(const quantise::Network network,
                   quantise::Network::Read(file.bytes(), file.model));
  std::map<std::string, Shape, std::less<>> shapes;
  {
    ASSIGN_OR_RETURN(const Runner runner, Runner::Create(job, file.model));
    shapes = ShapesOf(runner.segments());
  }
  Subject subject{network, std::move(shapes), quantise::FreshNames(network), seed};
  AppliedAdvice applied;
  std::vector<const Change*> taken;
  std::set<std::string> places;
  double ratio = 1;
  for (const MeasuredChange& measured : advice.changes) {
    if (!measured.gains || !places.insert(measured.change.where).second) continue;
    taken.push_back(&measured.change);
    // Of changes of one node, the better one was first.
    if (const auto bytes = ApplyChanges(subject, taken); bytes.ok()) {
      applied.bytes = *bytes;
      ratio *= 1 - measured.gain();
      applied.whole.change.same_function =
          measured.change.same_function &&
          (taken.size() == 1 || applied.whole.change.same_function);
    } else {
      taken.pop_back();
    }
  }
  applied.changes = taken.size();
  applied.predicted_gain = 1 - ratio;
  if (taken.empty()) return applied;
  const bool same_function = applied.whole.change.same_function;
  ASSIGN_OR_RETURN(applied.whole, MeasureGain(options, job, file.bytes(), applied.bytes));
  applied.whole.change.same_function = same_function;
  return applied;
}

Json AdviceJson(const Advice& advice, const quantise::Network& network, bool gains) {
  Json all = Json::array();
  for (const MeasuredChange& measured : advice.changes) {
    if (measured.gains != gains) continue;
    Json nodes = Json::array();
    for (size_t node : measured.change.nodes) nodes.push_back(network.node(node).name);
    all.push_back({{"rule", measured.change.rule},
                   {"change", measured.change.text},
                   {"nodes", std::move(nodes)},
                   {"same_function", measured.change.same_function},
                   {"operations", measured.operations()},
                   {"ms_before", measured.ms_before},
                   {"ms_after", measured.ms_after},
                   {"gain", measured.gain()},
                   {"low", NumberJson(1 - measured.high)},
                   {"high", NumberJson(1 - measured.low)}});
  }
  return all;
}

std::string GainText(const MeasuredChange& measured) {
  const double operations = measured.operations();
  const std::string of_operations =
      std::abs(operations) < 5e-4
          ? "the same operations"
          : Percent(std::abs(operations)) + (operations > 0 ? " more" : " fewer") + " operations";
  const double gain = measured.gain();
  return fmt::format("{} {} ({:.3f} to {:.3f} ms; 99 % sure: {} to {}), {}",
                     Percent(std::abs(gain)), gain >= 0 ? "faster" : "slower", measured.ms_before,
                     measured.ms_after, Percent(1 - measured.high), Percent(1 - measured.low),
                     of_operations);
}

}  // namespace fettle::tools
