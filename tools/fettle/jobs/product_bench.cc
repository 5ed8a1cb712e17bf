#include "jobs/product_bench.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "base/clock.h"
#include "kernels/backend.h"
#include "kernels/cpu/probe/fma.h"
#include "tuner/search/search.h"

namespace fettle::tools {
namespace {

using tuner::Row;

/// The kernel's parameters as a space whose points are valid ones.
struct ParamsSpace {
  std::vector<tuner::Parameter> parameters;
  std::vector<tuner::Value> start;

  ParamsSpace(const tuner::Candidate& from, const kernels::ParamSpace& space,
              bool work_group_alone) {
    for (const kernels::Tunable& tunable : space.tunables) {
      const int64_t now = from.params.at(tunable.name);
      const bool is_free = !work_group_alone || tunable.name == "LX" || tunable.name == "LY";
      tuner::Parameter parameter{tunable.name, {}};
      if (is_free)
        parameter.values.assign(tunable.values.begin(), tunable.values.end());
      else
        parameter.values = {now};
      start.emplace_back(now);
      parameters.push_back(std::move(parameter));
    }
  }

  kernels::Params At(const tuner::Point& point) const {
    kernels::Params params;
    for (size_t i = 0; i < parameters.size(); ++i)
      params[parameters[i].name] =
          std::get<int64_t>(parameters[i].values[static_cast<size_t>(point[i])]);
    return params;
  }
};

/// Somebody cancelled: nothing is known.
bool WasGivenUp(const Row& row) { return row.status == Row::Status::kStopped && row.samples == 0; }

/// What a search is told of a row, in ms: of one that was stopped, what it takes at least.
std::optional<double> ToldMs(const Row& row) {
  if (row.status == Row::Status::kStopped && row.samples > 0) return row.low_us * 1e-3;
  const bool has_time = row.status == Row::Status::kOk && row.median_us > 0;
  return has_time ? std::optional(row.median_us * 1e-3) : std::nullopt;
}

double FmaOfAllThreads(const CpuDevice& cpu, int threads) {
  std::vector<double> flops(static_cast<size_t>(threads));
  cpu.pool().ParallelFor(threads, threads, [&](int64_t task, int) {
    flops[static_cast<size_t>(task)] = kernels::ProbeFmaFlops();
  });
  return std::accumulate(flops.begin(), flops.end(), 0.0);
}

}  // namespace

Row ProductBench::Measure(const tuner::Candidate& candidate, double stop_above_us) {
  const tuner::RowKey key = KeyOf(candidate, DeviceOf(candidate));
  store_.BeginFlight(key);
  Row row = bench_.Run(candidate, stop_above_us);
  store_.EndFlight(key);
  if (!WasGivenUp(row)) PutTimes(key, row, store_);
  return row;
}

std::vector<Row> ProductBench::Race(std::span<const tuner::Candidate> candidates) {
  std::vector<Row> rows = bench_.Race(candidates);
  for (size_t i = 0; i < rows.size(); ++i)
    if (!WasGivenUp(rows[i]))
      PutTimes(KeyOf(candidates[i], DeviceOf(candidates[i])), rows[i], store_);
  return rows;
}

Row ProductBench::Known(const tuner::Candidate& candidate, double stop_above_us) {
  const auto row = FindTimes(KeyOf(candidate, DeviceOf(candidate)), store_);
  if (row.ok() && !row->prior && row->status != Row::Status::kStopped) return *row;
  return Measure(candidate, stop_above_us);
}

Result<std::optional<kernels::Params>> ProductBench::Search(const tuner::Candidate& from,
                                                            const SearchLimits& limits) {
  const kernels::ParamSpace all = kernels::SpaceOf(*from.kernel, from.problem, DeviceOf(from));
  const ParamsSpace named(from, all, limits.work_group_alone);
  ASSIGN_OR_RETURN(const tuner::SearchSpace space,
                   tuner::SearchSpace::Create(named.parameters, {}, [&](const tuner::Point& point) {
                     return !all.check || all.check(named.At(point)).ok();
                   }));
  tuner::SearchOptions options{.seed = limits.seed, .max_evaluations = limits.evaluations};
  if (const auto start = space.Find(named.start); start.ok()) options.seeds.push_back(*start);
  ASSIGN_OR_RETURN(const auto search, tuner::Search::Create(space, options));
  while (!limits.interrupted()) {
    const std::optional<tuner::Point> point = search->Ask();
    if (!point) break;
    tuner::Candidate candidate = from;
    candidate.params = named.At(*point);
    const tuner::Evaluation* const leader = search->best();
    const double limit_us = leader == nullptr ? tuner::kNoLimit : leader->ms.value() * 1e3;
    search->Tell(ToldMs(Known(candidate, limit_us)));
  }
  const tuner::Evaluation* const best = search->best();
  if (best == nullptr) return std::optional<kernels::Params>();
  return std::optional(named.At(best->point));
}

double ProductPeaks::Of(std::string_view ceiling) {
  if (const auto found = measured_.find(ceiling); found != measured_.end()) return found->second;
  return measured_.emplace(std::string(ceiling), Measure(ceiling)).first->second;
}

double ProductPeaks::Measure(std::string_view ceiling) const {
  if (accelerator_ == nullptr && ceiling == "fp32 fma") return FmaOfAllThreads(cpu_, threads_);
  if (accelerator_ == nullptr && threads_ > 1)
    return Probe(fmt::format("{}, {} cores", ceiling, threads_), false);
  // What bounds are made of takes part of a second, all that is named so some seconds.
  const double of_bounds = Probe(std::string(ceiling), true);
  return of_bounds > 0 ? of_bounds : Probe(std::string(ceiling), false);
}

double ProductPeaks::Probe(const std::string& ceiling, bool for_bounds) const {
  const Device& device = accelerator_ != nullptr ? *accelerator_ : cpu_;
  const auto rows =
      kernels::FindBackend(device.kind())
          ->probe(device, {.for_bounds = for_bounds, .only = ceiling, .threads = threads_});
  if (!rows.ok()) return 0;
  for (const kernels::Ceiling& row : *rows)
    if (row.name == ceiling && row.status.ok()) return row.bound();
  return 0;
}

Result<tuner::Summary> TimeCalls(const std::function<Status()>& call,
                                 const tuner::MeasureOptions& options) {
  const auto sample = [&]() -> Result<double> {
    const int64_t start = NowNs();
    RETURN_IF_ERROR(call());
    return static_cast<double>(NowNs() - start) * 1e-3;
  };
  ASSIGN_OR_RETURN(const tuner::Timing timing,
                   tuner::SampleUntilSure(sample, tuner::kNoLimit, options, NowNs));
  return timing.us;
}

}  // namespace fettle::tools
