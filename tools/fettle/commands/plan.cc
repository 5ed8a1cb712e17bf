// fettle plan: what is chosen for each group and why.
#include <fmt/core.h>

#include <algorithm>

#include "commands/command.h"
#include "jobs/interrupt.h"
#include "jobs/solved_plan.h"
#include "options/checks.h"
#include "report/roofline.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

/// What the groups take at this machine's ceilings; nothing where nobody asked why.
std::vector<tuner::Limit> GroupLimits(const PlanOptions& options, const Job& job,
                                      const Solved& solved) {
  std::vector<tuner::Limit> limits;
  if (!options.explain) return limits;
  if (solved.foreign != nullptr) {
    for (const planner::Explained& group : solved.groups)
      limits.push_back(solved.foreign->LimitOf(group.work, !group.kernel.starts_with("cpu.")));
    return limits;
  }
  Roofline roofline(job.threads, job.session.accelerator(), options.job.common);
  for (const planner::Explained& group : solved.groups)
    limits.push_back(roofline.LimitOf(group.work, !group.kernel.starts_with("cpu.")));
  return limits;
}

Json SolvedJson(const Solved& solved, const std::vector<tuner::Limit>& limits) {
  Json nodes = Json::array();
  for (size_t i = 0; i < solved.groups.size(); ++i)
    nodes.push_back(ExplainedJson(solved.groups[i], limits.empty() ? nullptr : &limits[i]));
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
          {"predicted", solved.predicted.empty() ? Json(nullptr) : Json(solved.predicted)},
          {"in_use",
           {{"plan", solved.in_use.origin},
            {"groups", solved.in_use.groups},
            {"differing", solved.in_use.differing}}},
          {"nodes", std::move(nodes)},
          {"conversions", solved.conversions}};
}

std::string HeldText(int64_t bytes) {
  return bytes > 0 ? fmt::format("; holds up to {:.1f} MB", static_cast<double>(bytes) * 1e-6) : "";
}

void PrintSolved(const PlanOptions& options, const Solved& solved,
                 const std::vector<tuner::Limit>& limits) {
  fmt::print("{}{}", ExplainedText(solved.groups, limits, options.sort),
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
  if (solved.foreign != nullptr) fmt::print("{}\n", Fit(solved.ForeignText()));
  if (!solved.predicted.empty())
    fmt::print("{}\n", Fit(fmt::format("{}: {} of {} (~); nothing of it was measured here, "
                                       "`fettle tune` measures",
                                       solved.predicted, solved.predicted_groups,
                                       Count(std::ssize(solved.groups), "group"))));
  else if (solved.unmeasured > 0)
    fmt::print("{}\n", Fit(fmt::format("{} not measured: ~ marks roofline bounds; `fettle tune` "
                                       "measures",
                                       Count(solved.unmeasured, "group"))));
  if (!solved.groups.empty()) fmt::print("{}\n", Fit(solved.in_use.Text()));
  if (solved.regime) fmt::print("{}\n", Fit(solved.regime->Text()));
}

std::string CheckSolver(const std::string& text) {
  static constexpr std::string_view kMethods[] = {"auto", "ve", "sweep", "capped", "pbqp", "brute"};
  if (std::ranges::find(kMethods, text) != std::end(kMethods)) return "";
  if (text.starts_with("single:") && text.size() > 7) return "";
  return "expected auto|ve|sweep|capped|pbqp|single:LAYOUT|brute, got '" + text + "'";
}

/// The model on this machine, and what is planned: for it, or for the device of --for.
struct PlannedJob {
  Job job;
  Solved solved;
};

Result<PlannedJob> SolveJob(const PlanOptions& options) {
  std::optional<DeviceFacts> facts;
  JobOptions here = options.job;
  if (!options.facts.empty()) {
    auto read = ReadDeviceFacts(options.facts);
    if (!read.ok()) return AsInvalidInput(read.status());
    facts = std::move(*read);
    here.common = OptionsHere(here.common);
  }
  ASSIGN_OR_RETURN(Job job, MakeJob(here));
  PrintWarnings(job.warnings);
  ASSIGN_OR_RETURN(Solved solved, SolveModel(options, job, facts ? &*facts : nullptr));
  PrintWarnings(solved.warnings);
  std::ranges::copy(solved.warnings, std::back_inserter(job.warnings));
  if (solved.foreign != nullptr) {
    job.threads = solved.foreign->limits.threads;
    job.session.accelerators = {solved.foreign->accelerator};
    std::erase(job.session.accelerators, nullptr);
  }
  return PlannedJob{std::move(job), std::move(solved)};
}

void PrintPlan(const PlanOptions& options, const Job& job, const Solved& solved) {
  const std::vector<tuner::Limit> limits = GroupLimits(options, job, solved);
  const Device* accelerator = job.session.accelerator();
  if (!options.job.common.json) {
    PrintSolved(options, solved, limits);
    PrintParts({DeviceLine(job.threads, accelerator),
                PrecisionLine(options.job.common, accelerator, solved.steps)});
    return;
  }
  Json document = SolvedJson(solved, limits);
  if (solved.regime) document["regime"] = solved.regime->ToJson();
  if (solved.foreign != nullptr) document["for"] = solved.ForeignJson();
  document["model"] = options.job.model;
  document["device"] = DeviceJson(job.threads, accelerator);
  document["precision"] = PrecisionJson(options.job.common, accelerator, solved.steps);
  document["warnings"] = job.warnings;
  PrintJson(document);
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
  if (options.job.model.empty()) return FailUsage("plan: expected MODEL or --problem FILE");
  const Result<PlannedJob> planned = SolveJob(options);
  if (!planned.ok()) return Fail(planned.status());
  PrintPlan(options, planned->job, planned->solved);
  return kExitOk;
}

}  // namespace

void RegisterPlan(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* sub = app.add_subcommand("plan", "show the chosen kernels and layouts, and why");
  AddJobOptions(*sub, options->job);
  sub->get_option("MODEL")->required(false);
  AddSort(*sub, options->sort);
  sub->add_flag("--explain", options->explain, "also say why the other kernels were not chosen");
  sub->add_option("--solver", options->solver,
                  "auto (default), ve, sweep, capped, pbqp, brute, or single:LAYOUT for one layout "
                  "everywhere")
      ->check(CheckSolver);
  sub->add_option("--budget", options->seconds,
                  "the longest time of branch and bound, in seconds (default 60)")
      ->check(Between(0.0, 1e6));
  AddPlanBounds(*sub, options->bounds);
  sub->add_option("--level", options->level,
                  "take kernels that were tuned at this level as searched (default normal)")
      ->check(OneOf(tuner::LevelNames()));
  sub->add_option("--dump-problem", options->dump_problem,
                  "write the solver's problem to this file, as text");
  sub->add_option(
      "--package", options->package,
      "say which plan of this package run and bench would take, instead of MODEL's own");
  sub->add_option("--costs", options->costs, "take measured times from this tuning.db");
  sub->add_option("--problem", options->problem,
                  "solve a file of --dump-problem or an instance of the IOPDDL contest")
      ->excludes(sub->get_option("MODEL"));
  sub->add_option("--for", options->facts,
                  "plan for the device of this file, which `fettle peak --json` printed there")
      ->excludes(sub->get_option("--package"))
      ->excludes(sub->get_option("--memory-limit"))
      ->excludes(sub->get_option("--problem"));
  sub->callback([&action, options] { action = [options] { return Plan(*options); }; });
}

}  // namespace fettle::tools
