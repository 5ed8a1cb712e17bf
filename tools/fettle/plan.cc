// fettle plan: what is chosen for each group and why; the solver's problem as text, and solved from
// text.
#include <fmt/core.h>

#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"
#include "command.h"
#include "interrupt.h"
#include "plan_report.h"
#include "planner/planner.h"
#include "planner/restrict.h"
#include "tuner/learned_costs.h"
#include "tuning.h"

namespace fettle::tools {
namespace {

struct PlanOptions {
  JobOptions job;
  std::string problem, dump_problem, costs, solver = "auto", level = "normal";
  bool explain = false;
};

/// Keeps the segments that a session comes to.
class SegmentCollector final : public planner::PlanSource {
 public:
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    segments.push_back(segment);
    return planner::MakePlan(segment, devices, limits);
  }
  std::vector<ir::Graph> segments;
};

/// All segments of one model, solved.
struct Solved {
  std::vector<planner::Explained> groups;
  Json conversions = Json::array();
  solver::Report report;
  double cost_us = 0, bound_us = 0, solve_seconds = 0;
  int64_t before = 0, after = 0, unmeasured = 0;
  std::string dump, dump_solution;

  double gap() const { return cost_us > 0 ? std::max(0.0, 1 - bound_us / cost_us) : 0; }
  bool optimal() const { return gap() < 1e-9; }
};

Status SolveSegment(const PlanOptions& options, const ir::Graph& graph,
                    const runtime::Session& session, tuner::Store& store, Solved& solved) {
  const planner::Limits& limits = session.limits();
  ASSIGN_OR_RETURN(const tuner::Level level, tuner::LevelFromName(options.level));
  tuner::LearnedCosts costs(session.devices(), store);
  costs.AssumeEfficiency(tuner::EfficiencyOf(level));
  ASSIGN_OR_RETURN(
      const planner::Catalogue catalogue,
      planner::ListCatalogue(graph, session.devices(), limits, tuner::BreadthOf(level)));
  const auto extract = [&] {
    return planner::Extract(graph, catalogue, costs, limits.threads, tuner::AssumptionsOf(level));
  };
  // What is known of some entries bounds others, so all are asked for first.
  RETURN_IF_ERROR(extract().status());
  ASSIGN_OR_RETURN(planner::Extracted extracted, extract());
  solver::Options solve{.method = options.solver, .seed = options.job.common.seed};
  if (options.solver.starts_with("single:")) {
    RETURN_IF_ERROR(planner::RestrictToLayout(options.solver.substr(7), extracted));
    solve.method = "auto";
  }
  const int64_t start = NowNs();
  ASSIGN_OR_RETURN(const solver::Solution solution,
                   solver::Solve(extracted.problem, solve, &solved.report));
  solved.solve_seconds += static_cast<double>(NowNs() - start) * 1e-9;
  solved.cost_us += solution.cost;
  solved.bound_us += solution.bound;
  for (const planner::Instance& instance : catalogue.instances)
    solved.before += std::ssize(catalogue.kinds[static_cast<size_t>(instance.kind)].entries);
  solved.after += solved.report.choices_after;
  for (planner::Explained& group : planner::Explain(graph, catalogue, extracted, solution, costs)) {
    solved.unmeasured += group.measured ? 0 : 1;
    solved.groups.push_back(std::move(group));
  }
  const planner::Decision decision =
      planner::ToDecision(graph, catalogue, extracted, solution, limits.threads);
  for (const planner::ConversionDecision& conversion : decision.conversions)
    solved.conversions.push_back(ConversionJson(graph, conversion));
  if (options.dump_problem.empty()) return OkStatus();
  solved.dump = solver::Print(extracted.problem);
  solved.dump_solution = solver::Print(extracted.problem, solution);
  return WriteFile(options.dump_problem, std::as_bytes(std::span(solved.dump)));
}

Json SolvedJson(const Solved& solved) {
  Json nodes = Json::array();
  for (const planner::Explained& group : solved.groups) nodes.push_back(ExplainedJson(group));
  return {{"optimal", solved.optimal()},
          {"gap", solved.gap()},
          {"predicted_ms", solved.cost_us * 1e-3},
          {"solve_ms", solved.solve_seconds * 1e3},
          {"solver", solved.report.method},
          {"choices_before", solved.before},
          {"choices_after", solved.after},
          {"unmeasured", solved.unmeasured},
          {"nodes", std::move(nodes)},
          {"conversions", solved.conversions}};
}

void PrintSolved(const PlanOptions& options, const Solved& solved) {
  fmt::print("{}", ExplainedText(solved.groups, options.explain));
  fmt::print(
      "\n{} conversions; predicted {:.3f} ms ({}); {} of {} choices left after dominance; "
      "solved by {} in {:.1f} ms\n",
      solved.conversions.size(), solved.cost_us * 1e-3,
      solved.optimal() ? "optimal for these costs"
                       : fmt::format("certified gap {:.2f} %", 100 * solved.gap()),
      solved.after, solved.before, solved.report.method, solved.solve_seconds * 1e3);
  if (solved.unmeasured > 0)
    fmt::print("{} groups are not measured: ~ marks roofline bounds; `fettle tune` measures\n",
               solved.unmeasured);
}

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(StatusCode::kNotFound, "{}: cannot open", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Solves a problem that was dumped; no model is needed.
int SolveText(const PlanOptions& options) {
  const Result<std::string> text = ReadText(options.problem);
  if (!text.ok()) return Fail(AsInvalidInput(text.status()));
  const Result<solver::Problem> problem = solver::Parse(*text);
  if (!problem.ok()) return Fail(AsInvalidInput(problem.status().WithContext(options.problem)));
  solver::Report report;
  const auto solution =
      solver::Solve(*problem, {.method = options.solver, .seed = options.job.common.seed}, &report);
  if (!solution.ok()) return Fail(solution.status().WithContext(options.problem));
  if (!options.job.common.json) {
    fmt::print("{}", solver::Print(*problem, *solution));
    return kExitOk;
  }
  Json picks = Json::array();
  for (const solver::Pick& pick : solution->picks) {
    const solver::Group& group = problem->groups[static_cast<size_t>(pick.group)];
    const solver::Choice& choice = group.choices[static_cast<size_t>(pick.choice)];
    picks.push_back({{"node", group.name}, {"choice", choice.name}, {"ms", choice.cost * 1e-3}});
  }
  PrintJson({{"optimal", solution->optimal()},
             {"gap", solution->gap()},
             {"predicted_ms", solution->cost * 1e-3},
             {"bound_ms", solution->bound * 1e-3},
             {"error", solution->error},
             {"solve_ms", report.seconds * 1e3},
             {"solver", report.method},
             {"choices_before", report.choices_before},
             {"choices_after", report.choices_after},
             {"nodes", std::move(picks)}});
  return kExitOk;
}

Result<Solved> SolveModel(const PlanOptions& options, const Job& job) {
  const auto collector = std::make_shared<SegmentCollector>();
  runtime::SessionOptions wanted = job.session;
  wanted.plans = collector;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(job.model, wanted));
  runtime::TensorMap outputs;
  RETURN_IF_ERROR(session->Run(job.bound.tensors(), &outputs));
  const std::shared_ptr<tuner::Store> store =
      options.costs.empty() ? StoreFor(options.job.common)
                            : std::shared_ptr<tuner::Store>(tuner::OpenStore("", options.costs));
  Solved solved;
  for (const ir::Graph& segment : collector->segments)
    RETURN_IF_ERROR(SolveSegment(options, segment, *session, *store, solved));
  return solved;
}

int Plan(const PlanOptions& options) {
  InstallLog(options.job.common.log);
  StartInterruptThread();
  if (!options.problem.empty()) return SolveText(options);
  if (options.job.model.empty()) {
    fmt::print(stderr, "fettle: plan: expected MODEL or --problem FILE\n");
    return kExitUsage;
  }
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const Result<Solved> solved = SolveModel(options, *job);
  if (!solved.ok()) return Fail(solved.status());
  if (options.job.common.json) {
    Json document = SolvedJson(*solved);
    document["model"] = options.job.model;
    document["warnings"] = job->warnings;
    PrintJson(document);
  } else {
    PrintSolved(options, *solved);
  }
  return kExitOk;
}

}  // namespace

void RegisterPlan(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* sub = app.add_subcommand("plan", "show what is chosen and why");
  AddJobOptions(*sub, options->job);
  sub->get_option("MODEL")->required(false);
  sub->add_flag("--explain", options->explain, "and why not the others");
  sub->add_option("--solver", options->solver, "auto|ve|sweep|capped|pbqp|single:LAYOUT|brute");
  sub->add_option("--level", options->level,
                  "none|fast|normal|wide|full: how many parameters count")
      ->check(CLI::IsMember({"none", "fast", "normal", "wide", "full"}));
  sub->add_option("--dump-problem", options->dump_problem, "write the solver's problem as text");
  sub->add_option("--costs", options->costs, "take the costs from this database");
  sub->add_option("--problem", options->problem, "solve a problem that was dumped")
      ->excludes(sub->get_option("MODEL"));
  sub->callback([&action, options] { action = [options] { return Plan(*options); }; });
}

}  // namespace fettle::tools
