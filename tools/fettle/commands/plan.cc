// fettle plan: what is chosen for each group and why.
#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "commands/command.h"
#include "io/plan_problem.h"
#include "jobs/interrupt.h"
#include "jobs/tuning.h"
#include "passes/binary/binarise.h"
#include "passes/quantise/byte_moves.h"
#include "planner/planner.h"
#include "planner/restrict.h"
#include "report/plan_report.h"
#include "report/terminal.h"
#include "solver/problem/live_bytes.h"
#include "tuner/cost/calibrated_costs.h"
#include "tuner/cost/residency.h"
#include "tuner/network/slot_costs.h"
#include "tuner/store/database.h"

namespace fettle::tools {
namespace {

struct PlanOptions {
  JobOptions job;
  std::string problem, dump_problem, costs, solver = "auto", level = "normal";
  double seconds = 60;
  PlanBounds bounds;
  bool explain = false;
  SortOrder sort = SortOrder::kOwn;
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
  double cost_us = 0, bound_us = 0, alone_us = 0, solve_seconds = 0;
  int64_t held_bytes = 0;  // at most, by the segment that holds most; 0: nobody counted
  int64_t before = 0, after = 0, unmeasured = 0;
  solver::Problem problem;               // of all segments
  std::vector<exec::StepProfile> steps;  // of all segments
  std::vector<std::string> warnings;
  // Of networks with products on bits: each product, how or why not; what moves floats for bytes.
  std::vector<std::string> notes;

  double gap() const { return cost_us > 0 ? std::max(0.0, 1 - bound_us / cost_us) : 0; }
  bool optimal() const { return gap() < 1e-9; }
};

/// One line for each convolution and product of a network that runs some of them on bits.
void ListOnBits(const ir::Graph& graph, Solved& solved) {
  const std::vector<passes::BinaryFact> facts = passes::ListBinary(graph);
  const auto is_binary = [](const passes::BinaryFact& fact) { return fact.is_binary; };
  if (std::none_of(facts.begin(), facts.end(), is_binary)) return;
  for (const passes::BinaryFact& fact : facts) {
    solved.notes.push_back(fmt::format("{}: {}: {}", fact.is_binary ? "on bits" : "not on bits",
                                       graph.node(fact.node).name, fact.text));
  }
}

/// One line for each operator that moves or selects dequantised floats, with what kept bytes out.
void ListInFloats(const ir::Graph& graph, Solved& solved) {
  for (const passes::MovedInFloat& moved : passes::ListMovedInFloat(graph)) {
    const ir::Node& node = graph.node(moved.node);
    solved.notes.push_back(
        fmt::format("in floats: {} ({}): {}", node.name, std::string_view(node.op), moved.reason));
  }
}

Status SolveSegment(const PlanOptions& options, const ir::Graph& graph,
                    const runtime::Session& session, tuner::Store& store, Solved& solved) {
  const planner::Limits& limits = session.limits();
  ASSIGN_OR_RETURN(const exec::Plan first, planner::MakePlan(graph, session.devices(), limits));
  const bool cold = tuner::ConstantsAreCold(first, GetCpuInfo());
  ASSIGN_OR_RETURN(const tuner::Level level, tuner::LevelFromName(options.level));
  tuner::SlotCosts alone(session.devices(), store,
                         tuner::SlotOptionsOf(level, limits.precision != planner::Precision::kHigh),
                         cold);
  alone.learned().AssumeEfficiency(tuner::EfficiencyOf(level));
  // Kernels of an accelerator are built to say what they work in.
  const bool counts_bytes =
      session.devices().beside_cpu().empty() || options.bounds.memory_limit_mb > 0;
  tuner::CalibratedCosts costs(alone, session.devices(), store, counts_bytes);
  ASSIGN_OR_RETURN(const planner::Catalogue catalogue,
                   planner::ListCatalogue(graph, session.devices(), limits));
  ASSIGN_OR_RETURN(const planner::Decision preferred,
                   planner::PreferredDecision(graph, session.devices(), limits));
  const auto extract = [&] {
    return planner::Extract(graph, catalogue, costs, limits.threads, tuner::AssumptionsOf(level),
                            ToBounds(options.bounds), &preferred);
  };
  // What is known of some entries bounds others, so all are asked for first.
  RETURN_IF_ERROR(extract().status());
  ASSIGN_OR_RETURN(planner::Extracted extracted, extract());
  const bool one_layout = options.solver.starts_with("single:");
  solver::Options solve{
      .method = options.solver, .seconds = options.seconds, .seed = options.job.common.seed};
  if (one_layout) {
    RETURN_IF_ERROR(planner::RestrictToLayout(options.solver.substr(7), extracted));
    solve.method = "auto";
  }
  const int64_t start = NowNs();
  ASSIGN_OR_RETURN(const solver::Solution solution,
                   solver::Solve(extracted.problem, solve, &solved.report));
  solved.solve_seconds += static_cast<double>(NowNs() - start) * 1e-9;
  solved.cost_us += solution.cost;
  solved.bound_us += one_layout ? 0 : solution.bound;  // other layouts may cost less
  for (const planner::Instance& instance : catalogue.instances)
    solved.before += std::ssize(catalogue.kinds[static_cast<size_t>(instance.kind)].entries);
  solved.after += solved.report.choices_after;
  for (planner::Explained& group : planner::Explain(graph, catalogue, extracted, solution, costs)) {
    solved.unmeasured += group.measured ? 0 : 1;
    solved.alone_us += group.alone_us;
    solved.groups.push_back(std::move(group));
  }
  const planner::Decision decision =
      planner::ToDecision(graph, catalogue, extracted, solution, limits.threads);
  for (const planner::ConversionDecision& conversion : decision.conversions) {
    const ir::Value& value = graph.value(conversion.value);
    const double alone =
        costs.Conversion(*value.shape, value.dtype, conversion.from, conversion.to, limits.threads)
            .alone_us;
    solved.alone_us += alone;
    solved.conversions.push_back(ConversionJson(graph, conversion));
    solved.conversions.back()["alone_ms"] = alone * 1e-3;
  }
  if (counts_bytes) {
    for (int64_t bytes : solver::LiveBytes(extracted.problem, solution))
      solved.held_bytes = std::max(solved.held_bytes, bytes);
  }
  for (exec::StepProfile& step : StepsOf(graph, decision)) solved.steps.push_back(std::move(step));
  std::ranges::move(extracted.warnings, std::back_inserter(solved.warnings));
  Append(extracted.problem, solved.problem);
  if (options.explain) {
    ListOnBits(graph, solved);
    ListInFloats(graph, solved);
  }
  return OkStatus();
}

Json SolvedJson(const Solved& solved) {
  Json nodes = Json::array();
  for (const planner::Explained& group : solved.groups) nodes.push_back(ExplainedJson(group));
  return {{"optimal", solved.optimal()},
          {"gap", solved.gap()},
          {"predicted_ms", solved.cost_us * 1e-3},
          {"alone_ms", solved.alone_us * 1e-3},
          {"held_bytes", solved.held_bytes > 0 ? Json(solved.held_bytes) : Json(nullptr)},
          {"solve_ms", solved.solve_seconds * 1e3},
          {"solver", solved.report.method},
          {"choices_before", solved.before},
          {"choices_after", solved.after},
          {"unmeasured", solved.unmeasured},
          {"nodes", std::move(nodes)},
          {"conversions", solved.conversions}};
}

std::string HeldText(int64_t bytes) {
  return bytes > 0 ? fmt::format("; holds up to {:.1f} MB", static_cast<double>(bytes) * 1e-6) : "";
}

void PrintSolved(const PlanOptions& options, const Solved& solved) {
  fmt::print("{}{}", ExplainedText(solved.groups, options.explain, options.sort),
             ConversionsText(solved.conversions));
  for (const std::string& line : solved.notes) fmt::print("{}\n", Fit(line));
  fmt::print(
      "\n{}\n",
      Fit(fmt::format("{}; predicted {:.3f} ms, {:.3f} ms alone ({}){}; {} of {} left after "
                      "dominance; solved by {} in "
                      "{:.1f} ms",
                      Count(std::ssize(solved.conversions), "conversion"), solved.cost_us * 1e-3,
                      solved.alone_us * 1e-3,
                      solved.optimal() ? "optimal for these costs"
                                       : fmt::format("certified gap {:.2f} %", 100 * solved.gap()),
                      HeldText(solved.held_bytes), solved.after, Count(solved.before, "choice"),
                      solved.report.method, solved.solve_seconds * 1e3)));
  if (solved.unmeasured > 0)
    fmt::print("{}\n", Fit(fmt::format("{} not measured: ~ marks roofline bounds; `fettle tune` "
                                       "measures",
                                       Count(solved.unmeasured, "group"))));
}

/// A database that was asked for by name must be one.
Result<std::shared_ptr<tuner::Store>> OpenCosts(const PlanOptions& options) {
  if (options.costs.empty()) return StoreFor(options.job.common);
  const auto readable = tuner::Database::Open(options.costs, tuner::Database::Access::kRead);
  if (!readable.ok()) return AsInvalidInput(readable.status());
  return std::shared_ptr<tuner::Store>(tuner::OpenStore("", options.costs));
}

Result<Solved> SolveModel(const PlanOptions& options, const Job& job) {
  const auto collector = std::make_shared<SegmentCollector>();
  runtime::SessionOptions wanted = job.session;
  wanted.plans = collector;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(job.model, wanted));
  runtime::TensorMap outputs;
  RETURN_IF_ERROR(session->Run(job.bound.tensors(), &outputs));
  ASSIGN_OR_RETURN(const std::shared_ptr<tuner::Store> store, OpenCosts(options));
  Solved solved;
  for (const ir::Graph& segment : collector->segments)
    RETURN_IF_ERROR(SolveSegment(options, segment, *session, *store, solved));
  if (!options.dump_problem.empty()) {
    const Status written = WriteTextFile(options.dump_problem, solver::Print(solved.problem));
    if (!written.ok()) return AsWriteFailure(written);
  }
  return solved;
}

std::string CheckSolver(const std::string& text) {
  static constexpr std::string_view kMethods[] = {"auto", "ve", "sweep", "capped", "pbqp", "brute"};
  if (std::ranges::find(kMethods, text) != std::end(kMethods)) return "";
  if (text.starts_with("single:") && text.size() > 7) return "";
  return "expected auto|ve|sweep|capped|pbqp|single:LAYOUT|brute, got '" + text + "'";
}

int Plan(const PlanOptions& options) {
  InstallLog(options.job.common.log);
  StartInterruptThread();
  if (!options.problem.empty())
    return SolveProblemFile({.file = options.problem,
                             .solver = options.solver,
                             .seconds = options.seconds,
                             .seed = options.job.common.seed,
                             .json = options.job.common.json});
  if (options.job.model.empty()) {
    return Fail("plan: expected MODEL or --problem FILE", kExitUsage);
  }
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const Result<Solved> solved = SolveModel(options, *job);
  if (!solved.ok()) return Fail(solved.status());
  PrintWarnings(solved->warnings);
  std::ranges::copy(solved->warnings, std::back_inserter(job->warnings));
  if (options.job.common.json) {
    Json document = SolvedJson(*solved);
    document["model"] = options.job.model;
    document["device"] = DeviceJson(job->threads, job->session.accelerator());
    document["precision"] =
        PrecisionJson(options.job.common, job->session.accelerator(), solved->steps);
    document["warnings"] = job->warnings;
    PrintJson(document);
  } else {
    PrintSolved(options, *solved);
    PrintParts({DeviceLine(job->threads, job->session.accelerator()),
                PrecisionLine(options.job.common, job->session.accelerator(), solved->steps)});
  }
  return kExitOk;
}

}  // namespace

void RegisterPlan(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* sub = app.add_subcommand("plan", "show what is chosen and why");
  AddJobOptions(*sub, options->job);
  sub->get_option("MODEL")->required(false);
  AddSort(*sub, options->sort);
  sub->add_flag("--explain", options->explain, "and why not the others");
  sub->add_option("--solver", options->solver, "auto|ve|sweep|capped|pbqp|single:LAYOUT|brute")
      ->check(CheckSolver);
  sub->add_option("--budget", options->seconds, "seconds for branch and bound (60)")
      ->check(CLI::Range(0.0, 1e6));
  AddPlanBounds(*sub, options->bounds);
  sub->add_option("--level", options->level,
                  "none|fast|work-size|normal|wide|full: how far slots are searched")
      ->check(CLI::IsMember(tuner::LevelNames()));
  sub->add_option("--dump-problem", options->dump_problem, "write the solver's problem as text");
  sub->add_option("--costs", options->costs, "take the costs from this database");
  sub->add_option("--problem", options->problem,
                  "solve a problem that was dumped, or an instance of the IOPDDL contest")
      ->excludes(sub->get_option("MODEL"));
  sub->callback([&action, options] { action = [options] { return Plan(*options); }; });
}

}  // namespace fettle::tools
