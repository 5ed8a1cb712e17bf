// fettle bench: load, prepare, first and steady latency, memory, and the per-operator table.
#include <fmt/core.h>

#include <algorithm>

#include "commands/command.h"
#include "generation/bench_generate.h"
#include "generation/decoder_options.h"
#include "io/gzip.h"
#include "jobs/accelerator.h"
#include "jobs/bench_runs.h"
#include "jobs/interrupt.h"
#include "jobs/plans.h"
#include "options/checks.h"
#include "remote/remote.h"
#include "report/bench_document.h"
#include "report/bench_report.h"
#include "report/messages.h"
#include "report/process_memory.h"
#include "report/profile_table.h"
#include "report/report.h"
#include "report/roofline.h"
#include "report/statistics.h"
#include "report/table.h"
#include "report/terminal.h"
#include "solvers/solver_bench.h"

namespace fettle::tools {
namespace {

constexpr size_t kProfileRows = 15;

struct BenchOptions {
  JobOptions job;
  LoadAndRunFlags load_and_run;
  BenchLength length;
  bool profile = false;
  bool bound = false;
  int sessions = 1;
  std::string compare;
  SortOrder sort = SortOrder::kOwn;
  RemoteOptions remote;
  GenerateLength generate;
  SolverNames solvers;
};

/// The median in milliseconds that an earlier run's JSON tells of.
Result<double> ReadBaseMedian(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadMaybeGzip(path));
  const Json base = Json::parse(text, nullptr, false);
  if (!base.is_object() || !base.contains("latency_ms") || !base["latency_ms"].is_object() ||
      !base["latency_ms"].contains("median") || !base["latency_ms"]["median"].is_number())
    return InvalidArgument("{}: not the JSON of an earlier bench", path);
  return base["latency_ms"]["median"].get<double>();
}

/// The line that says how this run relates to an earlier one.
std::string ComparisonLine(const std::string& path, double before, double now) {
  return fmt::format("against {}: median {:.3f} ms -> {:.3f} ms, {:.2f}x", path, before, now,
                     now > 0 ? before / now : 0);
}

std::vector<StepLimit> StepLimits(const BenchResult& result, Roofline& roofline) {
  std::vector<StepLimit> limits;
  for (const exec::StepProfile& step : result.steps) {
    const tuner::Limit limit = roofline.LimitOf(step);
    limits.push_back({limit.us * 1e-3, limit.by});
  }
  return limits;
}

/// What an inference asks of host and device beside arithmetic.
void PrintDevice(const BenchOptions& options, const Job& job, const BenchResult& result) {
  if (job.session.accelerator() != nullptr)
    fmt::print("{}\n",
               Fit(fmt::format("host: {:.3f} ms of an inference, without waiting for the device",
                               Summarise(result.host_ms).median)));
  if (job.session.accelerator() != nullptr || options.bound) {
    const Transfers& transfers = result.transfers;
    fmt::print("{}\n", Fit(fmt::format("transfers of an inference{}: {} copies ({}), {} maps, "
                                       "{} conversions by the host",
                                       options.bound ? ", inputs and outputs bound" : "",
                                       transfers.copies, BytesText(transfers.copied_bytes),
                                       transfers.maps, transfers.conversions)));
  }
  PrintLaunches(job);
}

void PrintTables(const BenchOptions& options, const Job& job, const BenchResult& result,
                 Roofline& roofline) {
  const Summary summary = Summarise(result.latencies);
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"min ms", kRight},
               {"median", kRight},
               {"mean", kRight},
               {"p90", kRight},
               {"p99", kRight},
               {"stddev", kRight},
               {"per second", kRight}});
  table.Row({MsText(summary.min), MsText(summary.median), MsText(summary.mean), MsText(summary.p90),
             MsText(summary.p99), MsText(summary.stddev),
             fmt::format("{:.1f}", 1000 / summary.mean)});
  PrintStart(job, result);
  fmt::print("{}\n{}\n", table.ToString(),
             options.profile ? ListProfile(result.steps, StepLimits(result, roofline), options.sort)
                             : SummariseProfile(result.steps, kProfileRows, options.sort));
  PrintMemory(job, result);
  PrintDevice(options, job, result);
  // What an interruption kept from being probed is not known.
  if (const double share = roofline.Share(result.steps); share > 0 || !result.interrupted)
    fmt::print("roofline: {:.0f} % of what this machine can do at best\n", 100 * share);
  if (result.runs_on_fewer > 0)
    fmt::print("fewer threads were faster in {} of {}\n", result.runs_on_fewer,
               Count(std::ssize(result.latencies), "run"));
  PrintParts({Count(std::ssize(result.latencies), "run"),
              DeviceLine(job.threads, job.session.accelerator()),
              PrecisionLine(options.job.common, job.session.accelerator(), result.steps)});
}

void PrintPrediction(const Prediction& prediction, double median_ms) {
  if (prediction.steps.empty()) return;
  PrintParts({fmt::format("predicted: {:.3f} ms by steps in networks", prediction.predicted_ms),
              fmt::format("{:.3f} ms alone", prediction.alone_ms),
              fmt::format("measured {:+.0f} %", 100 * (median_ms / prediction.predicted_ms - 1))});
}

/// A model's runs, and what they ran on.
struct Timed {
  Job job;
  ChosenPlans plans;
  std::shared_ptr<tuner::RecordedPlans> recorded;
  std::unique_ptr<runtime::Session> session;
  BenchResult result;
};

Result<Timed> TimeModel(const BenchOptions& options) {
  ResetPeak();
  const int64_t rss_before = ResidentBytes();
  Timed timed;
  ASSIGN_OR_RETURN(timed.job, MakeJob(options.job));
  PrintWarnings(timed.job.warnings);
  ASSIGN_OR_RETURN(timed.plans, ChoosePlans(timed.job, options.job, options.load_and_run));
  timed.recorded = std::make_shared<tuner::RecordedPlans>(
      timed.plans.source != nullptr ? timed.plans.source : planner::PreferredPlans());
  runtime::SessionOptions wanted = timed.job.session;
  wanted.plans = timed.recorded;
  ASSIGN_OR_RETURN(timed.session, runtime::Session::Create(timed.job.model, wanted));
  BenchResult& result = timed.result;
  RETURN_IF_ERROR(Measure(options.length, timed.job, options.bound, *timed.session, result));
  result.peak_rss_bytes = std::max<int64_t>(0, PeakResidentBytes() - rss_before);
  if (timed.job.session.accelerator() != nullptr && !result.interrupted) {
    wanted.plans = timed.plans.source;
    RETURN_IF_ERROR(MeasureSteps(timed.job, *timed.session, wanted, result));
  }
  return timed;
}

/// Of several sessions, where they are asked for; 0 otherwise.
Result<double> AtOnce(const BenchOptions& options, const Timed& timed) {
  if (options.sessions < 2 || timed.result.interrupted) return 0;
  runtime::SessionOptions session = timed.job.session;
  session.plans = timed.plans.source;
  session.precision = timed.session->limits().precision;  // as its first run was judged
  session.judges_first_run = false;
  return ThroughputAtOnce(timed.job, session, options.sessions, options.length.seconds);
}

int Bench(const BenchOptions& options) {
  InstallLog(options.job.common.log);
  if (!options.generate.text.empty())
    return BenchGenerate(options.job.model, options.generate, options.length.iters, options.profile,
                         options.job.common);
  if (!options.solvers.text.empty())
    return BenchSolvers(options.job, options.solvers.list(), options.length);
  const Result<double> base = options.compare.empty() ? 0 : ReadBaseMedian(options.compare);
  if (!base.ok()) return Fail(AsInvalidInput(base.status()));
  StartInterruptThread();
  const auto timed = TimeModel(options);
  if (!timed.ok()) return Fail(timed.status());
  const auto& [job, plans, recorded, session, result] = *timed;
  const double median = Summarise(result.latencies).median;
  Roofline roofline(job.threads, job.session.accelerator(), options.job.common);
  const Prediction prediction = Predict(job, plans, *recorded, result.steps);
  const auto at_once = AtOnce(options, *timed);
  if (!at_once.ok()) return Fail(at_once.status());
  const std::string comparison =
      options.compare.empty() ? "" : ComparisonLine(options.compare, *base, median);
  if (options.job.common.json) {
    Json document = BenchDocument(options.job, options.bound, job, result, prediction, roofline);
    AddPlanFields(job, plans, prediction, document);
    if (*at_once > 0)
      document["at_once"] = {{"sessions", options.sessions}, {"throughput", *at_once}};
    if (!comparison.empty()) document["comparison"] = comparison;
    PrintJson(document);
  } else {
    fmt::print("{}", plans.tuning);
    PrintTables(options, job, result, roofline);
    PrintPrediction(prediction, median);
    if (*at_once > 0)
      fmt::print("{} sessions at once: {:.1f} inferences per second\n", options.sessions, *at_once);
    if (!comparison.empty()) fmt::print("{}\n", comparison);
  }
  if (!result.interrupted) return kExitOk;
  PrintMessage("fettle: interrupted; the results are those of {}\n",
               Count(std::ssize(result.latencies), "run"));
  return kExitFailed;
}

void AddSolvers(CLI::App& sub, SolverNames& solvers) {
  CLI::Option* option =
      sub.add_option("--solver", solvers.text,
                     "plans to run in turns with the joint one, separated by commas: "
                     "single:LAYOUT (as single:NHWC), default, joint")
          ->check(CLI::Validator([](const std::string& text) { return CheckSolvers(text); }, ""));
  for (const char* other : {"--profile", "--bound", "--sessions", "--compare", "--generate",
                            "--remote", "--fast-run", "--layout-transform"})
    option->excludes(sub.get_option(other));
}

void AddGenerate(CLI::App& sub, BenchOptions& options) {
  sub.add_option("--generate", options.generate.text,
                 "tokens of prompt and answer, as in 512,128: tokens per second of a language "
                 "model, as fettle generate takes it")
      ->check(CheckGenerateLength);
  sub.add_option("--sequences", options.generate.sequences,
                 "with --generate: then also make this many answers at once (default 1: none)")
      ->check(Between(1, 256))
      ->needs("--generate");
  AddCacheType(sub, options.generate.cache)->needs("--generate");
}

}  // namespace

void RegisterBench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* sub =
      app.add_subcommand("bench", "time loading, preparation, the first and later inferences");
  AddJobOptions(*sub, options->job);
  AddLoadAndRunFlags(*sub, options->load_and_run);
  CLI::Option* iters = sub->add_option("--iters,--iter", options->length.iters,
                                       "number of timed inferences (default: by --seconds)")
                           ->check(Between(1, 100000000));
  sub->add_option("--seconds", options->length.seconds,
                  "time of the timed inferences, in seconds (default 2)")
      ->check(Between(0.0, 86400.0))
      ->excludes(iters);
  sub->add_option("--warmup,--warmup-iter", options->length.warmup,
                  "inferences before those (default 3)")
      ->check(Between(0, 1000000));
  sub->add_flag("--profile", options->profile,
                "list each step, instead of sums for each operator; with --generate: these sums");
  AddSort(*sub, options->sort);
  sub->add_flag("--bound", options->bound, "keep inputs and outputs in the device's memory");
  sub->add_option(
         "--sessions", options->sessions,
         "then also run this many sessions at once, each in its own thread (default 1: none)")
      ->check(Between(1, 256));
  sub->add_option("--compare", options->compare,
                  "the --json output of an earlier bench, to compare with");
  AddGenerate(*sub, *options);
  AddRemoteOptions(*sub, options->remote);
  AddSolvers(*sub, options->solvers);
  sub->callback([&action, options, sub] {
    ChooseTarget(options->load_and_run, options->job.common);
    action = [options, sub] {
      if (!options->remote.given()) return Bench(*options);
      return RunRemotely(*sub, options->remote, options->job.common);
    };
  });
}

}  // namespace fettle::tools
