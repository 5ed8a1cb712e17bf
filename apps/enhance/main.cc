// fettle-enhance: videos, pictures and folders of them; docs/enhance.md describes it.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fettle/fettle.hpp>
#include <optional>
#include <thread>

#include "basics/nearest.h"
#include "job/batch.h"
#include "job/job.h"
#include "job/job_folder.h"
#include "report/report.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

struct Arguments {
  JobOptions job;
  bool json = false;
};

/// The first signal asks the job to stop, the second ends the program.
std::stop_source StopOnSignals() {
  std::stop_source stop;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([stop, signals]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();
    sigwait(&signals, &signal);
    _exit(128 + signal);
  }).detach();
  return stop;
}

int Fail(const Arguments& arguments, const std::string& message, int code) {
  fmt::print(stderr, "fettle: {}\n", message);
  if (arguments.json)
    fmt::print("{}\n", Json{{"error", {{"message", message}, {"exit_code", code}}}}.dump(
                           2, ' ', false, Json::error_handler_t::replace));
  return code;
}

void Warn(const std::string& sentence) { fmt::print(stderr, "fettle: warning: {}\n", sentence); }

JobResult RunJob(const Plan& plan, bool restart, std::stop_token stop) {
  if (plan.picture) return RunPicture(plan);
  ProgressLine line(plan);
  return RunVideo(
      plan, restart, [&](int64_t done, int64_t resumed) { line.Show(done, resumed); }, stop);
}

struct Outcome {
  Json document;
  int code = kExitOk;
};

/// Plans and runs one input; prints what people read.
Outcome Enhance(JobOptions options, const Arguments& arguments, std::stop_token stop) {
  if (!options.restart) JobFolder::Settle(options);
  const Plan plan = MakePlan(options);
  if (!options.plan_only)
    for (const std::string& loss : plan.losses) Warn(loss);
  const bool show_plan = (options.plan_only || arguments.job.explain) && !arguments.json;
  if (show_plan) fmt::print("{}", PlanText(plan, arguments.job.explain));
  if (options.plan_only) return {PlanJson(plan)};
  std::fflush(stdout);
  const JobResult result = RunJob(plan, options.restart, stop);
  for (const std::string& sentence : result.warnings) Warn(sentence);
  if (!arguments.json) fmt::print("{}{}", show_plan ? "\n" : "", ResultText(plan, result));
  Outcome outcome{ResultJson(plan, result)};
  if (result.damaged > 0) {
    Warn(fmt::format("{}: {} damaged places; the output has the {} frames that could be decoded",
                     plan.input.string(), result.damaged, result.frames_out));
    outcome.code = kExitFailed;
  }
  return outcome;
}

/// The failure that is being handled, as a line and an exit code.
std::pair<std::string, int> Caught() {
  try {
    throw;
  } catch (const Failure& failure) {
    return {failure.what(), failure.code()};
  } catch (const std::bad_alloc&) {
    return {"out of memory", kExitFailed};
  } catch (const std::exception& error) {
    return {error.what(), kExitFailed};
  }
}

/// All files of a folder; one that fails does not keep the others from being done.
int EnhanceAll(const std::vector<JobOptions>& jobs, const Arguments& arguments,
               std::stop_token stop) {
  Json files = Json::array();
  int first_code = kExitOk, failed = 0;
  for (const JobOptions& job : jobs) {
    if (stop.stop_requested()) break;
    Outcome outcome;
    try {
      outcome = Enhance(job, arguments, stop);
    } catch (...) {
      const auto [message, code] = Caught();
      fmt::print(stderr, "fettle: {}\n", message);
      outcome.document = {{"input", job.input.string()},
                          {"error", {{"message", message}, {"exit_code", code}}}};
      outcome.code = code;
    }
    failed += outcome.code == kExitOk ? 0 : 1;
    if (first_code == kExitOk) first_code = outcome.code;
    files.push_back(std::move(outcome.document));
  }
  if (arguments.json) {
    fmt::print("{}\n", Json{{"kind", "folder"},
                            {"input", arguments.job.input.string()},
                            {"files", std::move(files)},
                            {"failed", failed}}
                           .dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{} files, {} failed\n", jobs.size(), failed);
  }
  return first_code;
}

int Perform(const Arguments& arguments, std::stop_token stop) {
  const std::vector<JobOptions> jobs = JobsOf(arguments.job);
  if (std::filesystem::is_directory(arguments.job.input)) return EnhanceAll(jobs, arguments, stop);
  const Outcome outcome = Enhance(jobs.front(), arguments, stop);
  if (arguments.json)
    fmt::print("{}\n", outcome.document.dump(2, ' ', false, Json::error_handler_t::replace));
  return outcome.code;
}

void AddOptions(CLI::App& app, Arguments& arguments) {
  JobOptions& job = arguments.job;
  std::string steps =
      "what is done, in this order, NAME or NAME=STRENGTH; else what the input needs:";
  for (const StepRow& row : StepRows())
    steps +=
        fmt::format(" {} ({:g} to {:g}, usually {:g})", row.name, row.least, row.most, row.usual);
  app.add_option("INPUT", job.input, "video, picture, or folder of them")->required();
  app.add_option("-o,--output", job.output, "file or folder; usually INPUT_enhanced");
  CLI::Option* named = app.add_option("--steps", job.steps, steps);
  CLI::Option* network = app.add_option("--network", job.network, "of the steps: fast|good|best")
                             ->check(CLI::IsMember(NetworkChoices()));
  CLI::Option* fps = app.add_option("--fps", job.fps, "frames a second to reach, else the input's")
                         ->check(CLI::PositiveNumber);
  app.add_option("--budget", job.budget, "realtime: the widest network in time, or best")
      ->capture_default_str()
      ->check(CLI::IsMember({"realtime", "best"}))
      ->excludes(fps)
      ->excludes(network);
  app.add_flag_function(
         "--realtime", [&job](int64_t) { job.budget = "realtime"; },
         "the input's frames a second, as usual")
      ->excludes(fps);
  fps->excludes(network);
  app.add_option("--plan", job.plan_file, "steps of a plan that --plan-only --json wrote")
      ->excludes(named)
      ->excludes(network);
  app.add_option("--encoder", job.encoder, "auto|libx264|libx265|libvpx-vp9|libsvtav1|mpeg4")
      ->capture_default_str();
  app.add_option("--crf", job.crf, "the encoder's quality, lower is better")
      ->check(CLI::Range(0, 63));
  app.add_option("--preset", job.preset, "the encoder's speed, by its own names");
  app.add_option("--threads", job.threads, "0: all cores")
      ->envname("FETTLE_THREADS")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--overwrite", job.overwrite, "replace an output that is there");
  app.add_flag("--restart", job.restart, "forget what an unfinished job has done");
  app.add_flag("--strict", job.strict, "fail rather than leave anything out");
  app.add_flag("--plan-only", job.plan_only, "say what would be done");
  app.add_flag("--explain", arguments.job.explain, "say why");
  app.add_flag("--json", arguments.json, "one JSON document on stdout")->envname("FETTLE_JSON");
  app.set_version_flag("--version", FETTLE_VERSION);
}

/// The first word that is no option, with the one that may have been meant.
std::optional<std::string> Misspelling(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::ranges::find(known, name) != known.end()) continue;
    return fmt::format("enhance: there is no option '{}', did you mean '{}'?", name,
                       NearestOf(name, known));
  }
  return std::nullopt;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Enhances videos and pictures; nothing of them is lost.", "fettle enhance");
  AddOptions(app, arguments);
  arguments.json = std::any_of(argv, argv + argc,
                               [](const char* word) { return std::string_view(word) == "--json"; });
  if (const auto sentence = Misspelling(app, argc, argv))
    return Fail(arguments, *sentence, kExitUsage);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return Fail(arguments, error.what(), kExitUsage);
  }
  try {
    SilenceAv();
    const std::stop_source stop = StopOnSignals();
    const int code = Perform(arguments, stop.get_token());
    if (std::fflush(stdout) != 0) return Fail({}, "standard output cannot be written", kExitFailed);
    return code;
  } catch (...) {
    const auto [message, code] = Caught();
    return Fail(arguments, message, code);
  }
}

}  // namespace
}  // namespace fettle::enhance

int main(int argc, char** argv) { return fettle::enhance::Main(argc, argv); }
