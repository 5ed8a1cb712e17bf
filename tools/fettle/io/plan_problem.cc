#include "io/plan_problem.h"

#include <fmt/core.h>

#include "base/clock.h"
#include "io/gzip.h"
#include "io/iopddl.h"
#include "jobs/exit_code.h"
#include "report/report.h"
#include "solver/bounded/bounded.h"
#include "solver/solve.h"

namespace fettle::tools {
namespace {

/// Gaps below this are rounding.
constexpr double kClosed = 1e-8;

Json PicksJson(const solver::Problem& problem, const solver::Solution& solution) {
  Json picks = Json::array();
  for (const solver::Pick& pick : solution.picks) {
    const solver::Group& group = problem.groups[static_cast<size_t>(pick.group)];
    const solver::Choice& choice = group.choices[static_cast<size_t>(pick.choice)];
    picks.push_back({{"node", group.name}, {"choice", choice.name}, {"ms", choice.cost * 1e-3}});
  }
  return picks;
}

Json ConversionsJson(const solver::Problem& problem, const solver::Solution& solution) {
  Json conversions = Json::array();
  for (const solver::Made& made : solution.conversions) {
    const solver::Tensor& tensor = problem.tensors[static_cast<size_t>(made.tensor)];
    const solver::Conversion& conversion = tensor.conversions[static_cast<size_t>(made.conversion)];
    conversions.push_back({{"value", tensor.name},
                           {"from", tensor.states[static_cast<size_t>(conversion.from)]},
                           {"to", tensor.states[static_cast<size_t>(conversion.to)]},
                           {"ms", conversion.cost * 1e-3}});
  }
  return conversions;
}

Status SolveText(const ProblemOptions& options, const std::string& text) {
  const Result<solver::Problem> problem = solver::Parse(text);
  if (!problem.ok()) return AsInvalidInput(problem.status());
  solver::Report report;
  ASSIGN_OR_RETURN(
      const solver::Solution solution,
      solver::Solve(*problem,
                    {.method = options.solver, .seconds = options.seconds, .seed = options.seed},
                    &report));
  if (!options.json) {
    fmt::print("{}", solver::Print(*problem, solution));
    return OkStatus();
  }
  PrintJson({{"optimal", solution.optimal()},
             {"gap", solution.gap()},
             {"predicted_ms", solution.cost * 1e-3},
             {"bound_ms", solution.bound * 1e-3},
             {"error", solution.error},
             {"solve_ms", report.seconds * 1e3},
             {"solver", report.method},
             {"choices_before", report.choices_before},
             {"choices_after", report.choices_after},
             {"nodes", PicksJson(*problem, solution)},
             {"conversions", ConversionsJson(*problem, solution)}});
  return OkStatus();
}

/// The costs of the contest have no unit.
Status SolveIopddl(const ProblemOptions& options, const std::string& text) {
  if (options.solver != "auto")
    return Unsupported("--solver {}: instances of the IOPDDL contest are solved only by 'auto'",
                       options.solver);
  const Result<IopddlInstance> instance = ParseIopddl(text);
  if (!instance.ok()) return AsInvalidInput(instance.status());
  const int64_t start = NowNs();
  ASSIGN_OR_RETURN(
      const solver::Bounded best,
      solver::SolveBounded(instance->problem, {.seconds = options.seconds, .seed = options.seed}));
  const double seconds = static_cast<double>(NowNs() - start) * 1e-9;
  if (best.values.empty()) return Unsupported("no assignment was found in time");
  const double gap = best.cost > 0 ? (best.cost - best.bound) / best.cost : 0;
  if (!options.json) {
    fmt::print("{}: cost {:.0f}, bound {:.0f}, gap {:.2f} %, {:.1f} s, {} subproblems\n",
               instance->name, best.cost, best.bound, 100 * gap, seconds, best.nodes);
    return OkStatus();
  }
  int64_t choices = 0;
  for (const auto& values : instance->problem.network.unary) choices += std::ssize(values);
  PrintJson({{"name", instance->name},
             {"optimal", gap < kClosed},
             {"gap", gap},
             {"cost", best.cost},
             {"bound", best.bound},
             {"solve_ms", seconds * 1e3},
             {"solver", "bounded"},
             {"choices_before", choices},
             {"subproblems", best.nodes},
             {"values", best.values}});
  return OkStatus();
}

}  // namespace

int SolveProblemFile(const ProblemOptions& options) {
  const Result<std::string> text = ReadMaybeGzip(options.file);
  if (!text.ok()) return Fail(AsInvalidInput(text.status()));
  const size_t first = text->find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (*text)[first] == '{';
  const Status status = is_json ? SolveIopddl(options, *text) : SolveText(options, *text);
  return status.ok() ? kExitOk : Fail(status.WithContext(options.file));
}

void Append(const solver::Problem& segment, solver::Problem& all) {
  const int nodes = all.nodes, tensors = static_cast<int>(all.tensors.size());
  all.nodes += segment.nodes;
  all.tensors.insert(all.tensors.end(), segment.tensors.begin(), segment.tensors.end());
  for (solver::Group group : segment.groups) {
    for (int& node : group.nodes) node += nodes;
    for (int& tensor : group.inputs) tensor += tensors;
    for (int& tensor : group.outputs) tensor += tensors;
    all.groups.push_back(std::move(group));
  }
}

}  // namespace fettle::tools
