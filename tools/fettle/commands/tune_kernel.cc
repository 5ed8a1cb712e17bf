// fettle tune-kernel: searches the parameters of one kernel, on a device or on a recorded space.
#include "jobs/tune_kernel.h"

#include <fmt/format.h>

#include <atomic>

#include "base/file.h"
#include "commands/command.h"
#include "io/tensor_io.h"
#include "io/tuning_json.h"
#include "jobs/command_line.h"
#include "jobs/interrupt.h"
#include "jobs/replay.h"
#include "options/checks.h"
#include "report/messages.h"
#include "report/progress.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "tuner/search/search.h"

namespace fettle::tools {
namespace {

/// What a search on a recording came to.
struct SearchOutcome {
  std::unique_ptr<tuner::Search> search;
  double seconds = 0;
  bool interrupted = false;
};

/// The rows of a recording as points of `space`; what is no valid point there is left out.
std::vector<tuner::Evaluation> InSpace(const Recording& recording,
                                       const tuner::SearchSpace& space) {
  std::vector<tuner::Evaluation> evaluations;
  for (const Recording::Row& row : recording.rows) {
    std::vector<tuner::Value> values;
    for (const tuner::Parameter& parameter : space.parameters())
      for (size_t i = 0; i < recording.names.size(); ++i)
        if (recording.names[i] == parameter.name) values.push_back(row.values[i]);
    auto point = space.Find(values);
    if (point.ok() && space.Valid(*point)) evaluations.push_back({std::move(*point), row.ms});
  }
  return evaluations;
}

/// The fastest configuration of each file of --known.
Result<std::vector<tuner::Point>> KnownGood(const TuneKernelOptions& options,
                                            const tuner::SearchSpace& space) {
  std::vector<tuner::Point> points;
  for (const std::string& file : options.known) {
    ASSIGN_OR_RETURN(const Recording recording, ReadRecording(file));
    std::optional<tuner::Evaluation> best;
    for (tuner::Evaluation& evaluation : InSpace(recording, space))
      if (evaluation.ms && (!best || *evaluation.ms < *best->ms)) best = std::move(evaluation);
    if (best) points.push_back(best->point);
  }
  return points;
}

}  // namespace

Result<tuner::SearchOptions> MakeSearchOptions(const TuneKernelOptions& options,
                                               const tuner::SearchSpace& space) {
  tuner::SearchOptions search;
  search.strategy = options.strategy;
  search.seed = options.common.seed;
  if (options.evals > 0) search.max_evaluations = options.evals;
  if (options.budget > 0) search.max_seconds = options.budget;
  ASSIGN_OR_RETURN(search.seeds, KnownGood(options, space));
  if (!options.resume.empty()) {
    ASSIGN_OR_RETURN(const Recording journal, ReadRecording(options.resume));
    search.journal = InSpace(journal, space);
  }
  return search;
}

Json ParametersJson(const tuner::SearchSpace& space, const tuner::Point& point) {
  Json json = Json::object();
  for (int i = 0; i < space.dimensions(); ++i)
    std::visit([&](const auto& value) { json[space.parameters()[size_t(i)].name] = value; },
               space.ValueOf(point, i));
  return json;
}

namespace {

Result<SearchOutcome> SearchRecording(const TuneKernelOptions& options, const Replay& replay) {
  ASSIGN_OR_RETURN(tuner::SearchOptions settings, MakeSearchOptions(options, replay.space()));
  SearchOutcome outcome;
  ASSIGN_OR_RETURN(outcome.search, tuner::Search::Create(replay.space(), std::move(settings)));
  const int64_t all = static_cast<int64_t>(replay.size());
  Progress progress("searching", options.evals > 0 ? std::min(options.evals, all) : all);
  std::atomic<bool> stop = false;
  const InterruptScope interrupt([&stop] { stop = true; });
  while (!stop) {
    const std::optional<tuner::Point> point = outcome.search->Ask();
    if (!point) break;
    outcome.search->Tell(replay.Measure(*point));
    progress.Update(static_cast<int64_t>(outcome.search->history().size()));
  }
  outcome.seconds = outcome.search->seconds();
  outcome.interrupted = stop;
  return outcome;
}

void Print(const TuneKernelOptions& options, const Replay& replay, const SearchOutcome& outcome,
           const std::vector<std::string>& warnings) {
  const tuner::History& history = outcome.search->history();
  const tuner::Evaluation* const best = history.best();
  const double share = best ? replay.best_ms() / *best->ms : 0;
  const size_t failed = history.size() - history.fastest().size();
  if (options.common.json) {
    Json best_json = nullptr;
    if (best)
      best_json = {{"params", ParametersJson(replay.space(), best->point)}, {"ms", *best->ms}};
    PrintJson(
        {{"best", best_json},
         {"evaluations", history.size()},
         {"failed", failed},
         {"seconds", outcome.seconds},
         {"share_of_optimum", share},
         {"optimum",
          {{"params", ParametersJson(replay.space(), replay.best())}, {"ms", replay.best_ms()}}},
         {"configurations", replay.size()},
         {"strategy", options.strategy},
         {"seed", options.common.seed},
         {"interrupted", outcome.interrupted},
         {"warnings", warnings}});
    return;
  }
  Table table({{"parameter"}, {"best found"}, {"best recorded"}});
  for (int i = 0; i < replay.space().dimensions(); ++i)
    table.Row({replay.space().parameters()[static_cast<size_t>(i)].name,
               best ? tuner::PrintValue(replay.space().ValueOf(best->point, i)) : "",
               tuner::PrintValue(replay.space().ValueOf(replay.best(), i))});
  table.Row({"ms", best ? fmt::format("{:.4g}", *best->ms) : "no configuration ran",
             fmt::format("{:.4g}", replay.best_ms())});
  fmt::print("{}\n", table.ToString());
  PrintParts({fmt::format("{} of {} measured, {} failed", history.size(),
                          Count(static_cast<int64_t>(replay.size()), "configuration"), failed),
              fmt::format("{:.1f} % of the optimum", 100 * share),
              fmt::format("{:.2f} s", outcome.seconds)});
}

int TuneKernel(const TuneKernelOptions& options) {
  InstallLog(options.common.log);
  if (const Status place = CheckWritable(options.output); !place.ok()) return Fail(place);
  StartInterruptThread();
  std::vector<std::string> warnings;
  const auto spec = ReadKernelSpec(options.spec);
  if (!spec.ok()) return Fail(AsInvalidInput(spec.status()));
  const auto space = tuner::SearchSpace::Create(spec->parameters, spec->conditions);
  if (!space.ok()) return Fail(space.status().WithContext(options.spec));
  if (options.replay.empty()) {
    if (options.common.device == "cpu")
      return Fail(Unsupported("--device cpu: kernels are tuned on OpenCL devices"));
    return TuneOnDevice(options, *space);
  }
  const Status common = CheckCpuOptions(options.common, warnings);
  if (!common.ok()) return Fail(common);
  PrintWarnings(warnings);
  const auto recording = ReadRecording(options.replay);
  if (!recording.ok()) return Fail(AsInvalidInput(recording.status()));
  const auto replay = Replay::Create(*recording, *spec);
  if (!replay.ok()) return Fail(replay.status().WithContext(options.replay));
  const auto outcome = SearchRecording(options, *replay);
  if (!outcome.ok()) return Fail(AsInvalidInput(outcome.status()));
  if (!options.output.empty()) {
    const Status written = WriteTextFile(
        options.output, PrintT4(replay->space(), outcome->search->history().evaluations()));
    if (!written.ok()) return Fail(AsWriteFailure(written));
  }
  Print(options, *replay, *outcome, warnings);
  if (!outcome->interrupted) return kExitOk;
  PrintMessage("fettle: interrupted; the results are those of {}\n",
               Count(std::ssize(outcome->search->history().evaluations()), "evaluation"));
  return kExitFailed;
}

}  // namespace

void RegisterTuneKernel(CLI::App& app, Action& action) {
  auto options = std::make_shared<TuneKernelOptions>();
  CLI::App* sub = app.add_subcommand("tune-kernel", "search the parameters of your own kernel");
  sub->add_option("SPEC", options->spec, "the kernel, its parameters and conditions, as T1 JSON")
      ->required();
  std::vector<std::string> names;
  for (const tuner::StrategyRow& row : tuner::Strategies()) names.emplace_back(row.name);
  sub->add_option("--strategy", options->strategy, "how to search (default local)")
      ->check(OneOf(names));
  sub->add_option("--evals", options->evals,
                  "the most configurations to measure; 0: no limit (default 128)")
      ->check(Between(int64_t{0}, int64_t{1} << 40));
  sub->add_option("--budget", options->budget, "seconds of the search; 0: no limit (default)")
      ->check(Between(0.0, 1e6));
  sub->add_option(
      "--replay", options->replay,
      "take times from this recording instead of measuring: T4 or a cache of Kernel Tuner");
  sub->add_option("--known", options->known,
                  "recordings whose best configuration is measured first");
  sub->add_option("--resume", options->resume,
                  "continue from what -o wrote: nothing in it is measured again");
  sub->add_option("-o", options->output, "write the measurements to this file, as T4 JSON");
  AddCommonOptions(*sub, options->common);
  MarkWithoutEffect(*sub, {"--shape", "--threads"});
  sub->callback([&action, options] { action = [options] { return TuneKernel(*options); }; });
}

}  // namespace fettle::tools
