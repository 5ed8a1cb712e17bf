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
  if (solved.unmeasured > 0)
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
    return FailUsage("plan: expected MODEL or --problem FILE");
  }
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const Result<Solved> solved = SolveModel(options, *job);
  if (!solved.ok()) return Fail(solved.status());
  PrintWarnings(solved->warnings);
  std::ranges::copy(solved->warnings, std::back_inserter(job->warnings));
  const std::vector<tuner::Limit> limits = GroupLimits(options, *job, *solved);
  if (options.job.common.json) {
    Json document = SolvedJson(*solved, limits);
    if (solved->regime) document["regime"] = solved->regime->ToJson();
    document["model"] = options.job.model;
    document["device"] = DeviceJson(job->threads, job->session.accelerator());
    document["precision"] =
        PrecisionJson(options.job.common, job->session.accelerator(), solved->steps);
    document["warnings"] = job->warnings;
    PrintJson(document);
  } else {
    PrintSolved(options, *solved, limits);
    PrintParts({DeviceLine(job->threads, job->session.accelerator()),
                PrecisionLine(options.job.common, job->session.accelerator(), solved->steps)});
  }
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
  sub->callback([&action, options] { action = [options] { return Plan(*options); }; });
}

}  // namespace fettle::tools
