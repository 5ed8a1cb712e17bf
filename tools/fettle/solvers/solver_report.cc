// The rows of `fettle bench --solver`, for people and as JSON.
#include <fmt/format.h>

#include <map>

#include "jobs/interrupt.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "solvers/solver_bench.h"

namespace fettle::tools {
namespace {

/// What a plan's steps come to.
struct StepSums {
  int64_t steps = 0, conversions = 0;
  double conversions_ms = 0;
  std::map<std::string, int64_t> layouts;  // of results, conversions left out
};

StepSums SumsOf(const SolverRow& row) {
  StepSums sums{.steps = std::ssize(row.steps)};
  for (const exec::StepProfile& step : row.steps) {
    if (step.op == "Convert") {
      ++sums.conversions;
      sums.conversions_ms += step.ms;
    } else {
      ++sums.layouts[step.layout_out];
    }
  }
  return sums;
}

std::string LayoutsText(const std::map<std::string, int64_t>& layouts) {
  std::string text;
  for (const auto& [name, count] : layouts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

/// Steps of a device beside the CPU are only enqueued: nobody knows what they take.
bool KnowsSteps(const Job& job) { return job.session.accelerator() == nullptr; }

Json SolverJson(const Job& job, const SolverRow& row) {
  const StepSums sums = SumsOf(row);
  return {{"solver", row.solver},
          {"ms", row.ms},
          {"ratio", row.ratio},
          {"ci", {row.low, row.high}},
          {"predicted_ms", row.predicted_ms > 0 ? Json(row.predicted_ms) : Json(nullptr)},
          {"measured", row.measured},
          {"steps", sums.steps},
          {"conversions", sums.conversions},
          {"conversions_ms", KnowsSteps(job) ? Json(sums.conversions_ms) : Json(nullptr)},
          {"layouts", sums.layouts},
          {"same_kernels", row.same_kernels}};
}

std::string SolverTable(const Job& job, const SolverResult& result) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{.title = "solver", .least = 16},
               {"ms", kRight},
               {"over joint", kRight},
               {.title = "95 %", .align = kRight, .leaves = 3},
               {.title = "predicted", .align = kRight, .leaves = 2},
               {.title = "steps", .align = kRight, .leaves = 1},
               {"copies", kRight},
               {"their ms", kRight},
               {.title = "results", .narrow = Table::Narrow::kWrap, .least = 14}});
  for (const SolverRow& row : result.rows) {
    const StepSums sums = SumsOf(row);
    table.Row({row.solver, fmt::format("{:.3f}", row.ms), fmt::format("{:.3f}", row.ratio),
               fmt::format("{:.3f} to {:.3f}", row.low, row.high),
               row.predicted_ms > 0 ? fmt::format("{:.3f}", row.predicted_ms) : "",
               std::to_string(sums.steps), std::to_string(sums.conversions),
               KnowsSteps(job) ? fmt::format("{:.3f}", sums.conversions_ms) : "",
               row.same_kernels && &row != &result.rows.front() ? "kernels as joint"
                                                                : LayoutsText(sums.layouts)});
  }
  return table.ToString();
}

void PrintSolvers(const JobOptions& options, const Job& job, const SolverResult& result) {
  const Device* const accelerator = job.session.accelerator();
  const std::vector<exec::StepProfile>& steps = result.rows.front().steps;
  if (options.common.json) {
    Json rows = Json::array();
    for (const SolverRow& row : result.rows) rows.push_back(SolverJson(job, row));
    PrintJson({{"model", options.model},
               {"solvers", std::move(rows)},
               {"rounds", result.rounds},
               {"device", tools::DeviceJson(job.threads, accelerator)},
               {"precision", PrecisionJson(options.common, accelerator, steps)},
               {"interrupted", result.interrupted},
               {"warnings", job.warnings}});
    return;
  }
  fmt::print("{}\n{}\n", SolverTable(job, result),
             Fit("over joint: the median of the ratios in rounds in which each plan ran once; "
                 "copies: from one layout to another; results: of steps, by layout"));
  PrintParts({Count(result.rounds, "round"), DeviceLine(job.threads, accelerator),
              PrecisionLine(options.common, accelerator, steps)});
}

}  // namespace

int BenchSolvers(const JobOptions& options, const std::vector<std::string>& solvers,
                 const BenchLength& length) {
  if (options.common.precision != "high")
    return FailUsage(
        fmt::format("--solver compares plans that lose no accuracy: --precision {} is not for it",
                    options.common.precision));
  StartInterruptThread();
  const auto job = MakeJob(options);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const InterruptScope interrupt([] {});
  const auto result = MeasureSolvers(*job, options, solvers, length);
  if (!result.ok()) return Fail(result.status());
  PrintSolvers(options, *job, *result);
  if (!result->interrupted) return kExitOk;
  PrintMessage("fettle: interrupted; the results are those of {}\n",
               Count(result->rounds, "round"));
  return kExitFailed;
}

}  // namespace fettle::tools
