#include "advice/advise.h"

#include <algorithm>
#include <optional>

#include "advice/rules.h"
#include "base/clock.h"
#include "jobs/interrupt.h"
#include "report/progress.h"

namespace fettle::tools {
namespace {

/// What is less than that of the network's time is not worth a measurement.
constexpr double kLeastShare = 0.01;
/// Of the budget, where channels can be trimmed as well.
constexpr double kShareOfChanges = 0.75;

/// The file, what rules look at, and its own runs.
struct Workplace {
  Subject subject;
  std::optional<Runner> runner;
  std::map<std::string, double, std::less<>> node_ms;
  double total_ms = 0;
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
Status TimeNodes(Workplace& place) {
  constexpr int kRuns = 5;
  for (int i = 0; i < kRuns; ++i) {
    RETURN_IF_ERROR(place.runner->Run());
    for (const exec::StepProfile& step : place.runner->steps()) {
      place.total_ms += step.ms / kRuns;
      for (size_t at = 0; at <= step.node.size();) {
        const size_t end = std::min(step.node.find('+', at), step.node.size());
        place.node_ms[step.node.substr(at, end - at)] += step.ms / kRuns;
        at = end + 1;
      }
    }
  }
  return OkStatus();
}

/// Changes of a rule that are worth a measurement, the slowest places first.
Result<std::vector<Change>> FindChanges(Workplace& place,
                                        Status (*rule)(Subject&, std::vector<Change>&)) {
  std::vector<Change> changes, slow;
  RETURN_IF_ERROR(rule(place.subject, changes));
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < changes.size(); ++i) {
    double ms = 0;
    for (size_t node : changes[i].nodes)
      if (const auto found = place.node_ms.find(place.subject.network.node(node).name);
          found != place.node_ms.end())
        ms += found->second;
    if (ms >= kLeastShare * place.total_ms) order.emplace_back(-ms, i);
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
  ASSIGN_OR_RETURN(Runner after, Runner::Create(job, bytes));
  if (change.same_function && !Agree(*place.runner, after))
    return Error(StatusCode::kInternal, "its results differ");
  ASSIGN_OR_RETURN(MeasuredChange measured, Compare(options, *place.runner, after));
  measured.change = change;
  return measured;
}

/// Of many that were tried the best look better than they are: what gains is measured again.
Status MeasureAnew(const AdviceOptions& options, const Job& job, Subject& subject,
                   MeasuredChange& measured) {
  const Change* const only = &measured.change;
  ASSIGN_OR_RETURN(const std::string bytes, ApplyChanges(subject, std::span(&only, 1)));
  ASSIGN_OR_RETURN(MeasuredChange anew, MeasureGain(options, job, subject.network.bytes(), bytes));
  anew.change = std::move(measured.change);
  anew.confirmed = true;
  measured = std::move(anew);
  return OkStatus();
}

/// Measures changes until `seconds` are over.
Status MeasureChanges(const AdviceOptions& options, const Job& job, Workplace& place,
                      const std::vector<Change>& changes, double seconds,
                      std::vector<MeasuredChange>& all, std::vector<std::string>& warnings) {
  const int64_t start = NowNs();
  Progress progress("advise", static_cast<int64_t>(changes.size()));
  for (size_t i = 0; i < changes.size(); ++i) {
    if (static_cast<double>(NowNs() - start) * 1e-9 > seconds) {
      warnings.push_back(fmt::format("the budget ended after {} of {} {}", i, changes.size(),
                                     changes[i].rule == "trim" ? "trims" : "changes"));
      break;
    }
    progress.Update(static_cast<int64_t>(i));
    Result<MeasuredChange> measured = TryChange(options, job, place, changes[i]);
    if (measured.status().code() == StatusCode::kCancelled) return measured.status();
    if (measured.ok())
      all.push_back(*std::move(measured));
    else
      warnings.push_back(
          fmt::format("{}: not measured: {}", changes[i].text, measured.status().message()));
  }
  return OkStatus();
}

/// Sorts them, and measures the best few anew.
Status ConfirmTrims(const AdviceOptions& options, const Job& job, Subject& subject,
                    std::vector<MeasuredChange>& trims) {
  const auto best_first = [](const MeasuredChange& a, const MeasuredChange& b) {
    return a.gains != b.gains ? a.gains : a.gain() > b.gain();
  };
  std::ranges::stable_sort(trims, best_first);
  const auto gaining = static_cast<size_t>(std::ranges::count(trims, true, &MeasuredChange::gains));
  const auto few = std::span(trims).first(std::min(kConfirmedTrims, gaining));
  for (MeasuredChange& trim : few) RETURN_IF_ERROR(MeasureAnew(options, job, subject, trim));
  std::ranges::stable_sort(few, best_first);
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
  RETURN_IF_ERROR(TimeNodes(place));
  Advice advice;
  ASSIGN_OR_RETURN(const std::vector<Change> changes, FindChanges(place, ListChanges));
  std::vector<Change> trims;
  if (options.trims) {
    ASSIGN_OR_RETURN(trims, FindChanges(place, TrimChannels));
  }
  advice.found = changes.size();
  advice.trims_found = trims.size();
  const int64_t start = NowNs();
  const double first = options.budget * (trims.empty() ? 1 : kShareOfChanges);
  RETURN_IF_ERROR(
      MeasureChanges(options, job, place, changes, first, advice.changes, advice.warnings));
  const double left = options.budget - static_cast<double>(NowNs() - start) * 1e-9;
  RETURN_IF_ERROR(MeasureChanges(options, job, place, trims, left, advice.trims, advice.warnings));
  advice.steps = place.runner->steps();
  place.runner.reset();
  for (MeasuredChange& measured : advice.changes)
    if (measured.gains) RETURN_IF_ERROR(MeasureAnew(options, job, place.subject, measured));
  RETURN_IF_ERROR(ConfirmTrims(options, job, place.subject, advice.trims));
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

Json TrimsJson(const Advice& advice, const quantise::Network& network) {
  Json all = Json::array();
  for (const MeasuredChange& measured : advice.trims) {
    Json places = Json::array();
    for (const TrimmedPlace& place : measured.change.places) {
      Json writers = Json::array();
      for (size_t node : place.writers) writers.push_back(network.node(node).name);
      places.push_back({{"writers", std::move(writers)},
                        {"channels_before", place.channels},
                        {"drop", place.dropped},
                        {"carried", place.carried}});
    }
    all.push_back({{"change", measured.change.text},
                   {"channels", measured.change.channels},
                   {"places", std::move(places)},
                   {"operations", measured.operations()},
                   {"ms_before", measured.ms_before},
                   {"ms_after", measured.ms_after},
                   {"gain", measured.gain()},
                   {"low", NumberJson(1 - measured.high)},
                   {"high", NumberJson(1 - measured.low)},
                   {"gains", measured.gains},
                   {"confirmed", measured.confirmed}});
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
