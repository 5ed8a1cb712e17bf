#include "tuner/model/tuning_plans.h"

#include <algorithm>
#include <charconv>

#include "kernels/build_id.h"
#include "planner/planner.h"
#include "tuner/cost/residency.h"

namespace fettle::tuner {
namespace {

/// What a search proved holds as long as no kernel changes, used or not.
std::string SearchKey(const TuneOptions& options, const planner::DecisionKey& key) {
  return fmt::format("search {} {:.4g} {} {}", static_cast<int>(options.level),
                     options.bounds.error_budget, kernels::BuildId(), planner::PrintKey(key));
}

}  // namespace

Result<exec::Plan> TuningPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                        const planner::Limits& limits) {
  if (closed_) return planner::MakePlan(segment, devices, limits);
  const planner::DecisionKey key = planner::KeyOf(segment, devices, limits);
  for (const TunedSegment& known : result_.segments) {
    if (known.key == key) return planner::Apply(segment, known.decision, devices, limits.threads);
  }
  if (!options_.measure.cold_constants) {
    ASSIGN_OR_RETURN(const exec::Plan preferred, planner::MakePlan(segment, devices, limits));
    const CpuInfo& cpu = static_cast<const CpuDevice&>(devices.cpu()).info();
    options_.measure.cold_constants = tuner::ConstantsAreCold(preferred, cpu);
  }
  TuneReport report;
  // What was kept knows of no bans and no limit.
  const bool may_keep = options_.banned.empty() && options_.bounds.memory_limit < 0;
  Result<planner::Decision> decision =
      uses_kept_ && may_keep ? FindSearch(segment, key, report) : Status(StatusCode::kNotFound, "");
  if (!decision.ok())
    decision = tuner::TuneGraph(segment, devices, limits, options_, store_, &report);
  Add(report);
  RETURN_IF_ERROR(decision.status());
  result_.predicted_us += decision->predicted_us;
  result_.segments.push_back({.key = key,
                              .graph = std::make_shared<const ir::Graph>(segment),
                              .decision = *decision,
                              .entries = report.entries,
                              .choices = report.choices,
                              .proven = may_keep && !report.stopped && report.warnings.empty()});
  KeepSearch(options_, result_.segments.back(), store_);
  return planner::Apply(segment, *decision, devices, limits.threads);
}

void KeepSearch(const TuneOptions& options, const TunedSegment& segment, Store& store) {
  if (!segment.proven) return;
  store.PutDecision(SearchKey(options, segment.key),
                    fmt::format("{} {}\n{}", segment.entries, segment.choices,
                                planner::PrintDecision(*segment.graph, segment.decision)));
}

/// What an earlier search of this level ended with, if that proved an optimum: "entries choices",
/// then the decision.
Result<planner::Decision> TuningPlans::FindSearch(const ir::Graph& segment,
                                                  const planner::DecisionKey& key,
                                                  TuneReport& report) {
  ASSIGN_OR_RETURN(const std::string kept, store_.FindDecision(SearchKey(options_, key)));
  const size_t line = std::min(kept.find('\n'), kept.size());
  const char* end = kept.data() + line;
  const auto entries = std::from_chars(kept.data(), end, report.reused);
  if (line == kept.size() || entries.ec != std::errc() || entries.ptr == end ||
      std::from_chars(entries.ptr + 1, end, report.choices).ec != std::errc()) {
    return Error(StatusCode::kCorrupt, "the kept search is damaged");
  }
  report.entries = report.reused;
  return planner::ParseDecision(segment, std::string_view(kept).substr(line + 1));
}

void TuningPlans::Add(const TuneReport& report) {
  TuneReport& sum = result_.report;
  sum.entries += report.entries;
  sum.measured += report.measured;
  sum.reused += report.reused;
  sum.priors += report.priors;
  sum.skipped += report.skipped;
  sum.choices += report.choices;
  sum.rounds += report.rounds;
  sum.solve_seconds += report.solve_seconds;
  sum.seconds += report.seconds;
  sum.stopped |= report.stopped;
  if (!report.end.empty()) sum.end = report.end;
  sum.open += report.open;
  sum.bound_us += report.bound_us;
  sum.solver = report.solver;
  sum.rejected.insert(sum.rejected.end(), report.rejected.begin(), report.rejected.end());
  sum.warnings.insert(sum.warnings.end(), report.warnings.begin(), report.warnings.end());
  sum.lossy.insert(sum.lossy.end(), report.lossy.begin(), report.lossy.end());
}

}  // namespace fettle::tuner
