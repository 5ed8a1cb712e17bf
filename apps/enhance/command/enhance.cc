#include "command/enhance.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fettle/fettle.hpp>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "basics/files.h"
#include "basics/messages.h"
#include "command/there_already.h"
#include "job/folder_record.h"
#include "job/job.h"
#include "job/job_folder.h"
#include "report/page.h"

namespace fettle::enhance {
namespace {

void Warn(const std::string& sentence) { PrintMessage("fettle: warning: {}\n", OneLine(sentence)); }

JobResult RunJob(const Plan& plan, bool restart, bool alone, std::stop_token stop) {
  if (plan.picture && !plan.alerts_only) return RunPicture(plan);
  std::optional<ProgressLine> line;
  if (alone) line.emplace(plan);
  const auto show = [&](int64_t done, int64_t resumed, const SceneLog& scenes) {
    if (line) line->Show(done, resumed, scenes);
  };
  if (plan.alerts_only) return RunAlerts(plan, show, stop);
  return RunVideo(plan, restart, show, stop);
}

/// OUTPUT's name with _preview instead of its ending.
std::filesystem::path MakePreviewFolder(const std::filesystem::path& output) {
  std::filesystem::path folder = output;
  folder.replace_filename(output.stem().string() + "_preview");
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) throw Failure(kExitFailed, folder.string() + ": " + error.message());
  return folder;
}

/// A job's threads where nobody named them: its share of the cores.
int ThreadsOf(const JobOptions& options, int jobs) {
  if (options.threads > 0 || jobs <= 1) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / jobs);
}

/// The same, whatever fails.
Outcome EnhanceOrFail(const JobOptions& job, const Arguments& arguments, std::stop_token stop) {
  try {
    return EnhanceOne(job, arguments, stop);
  } catch (...) {
    const Failure failure = Caught();
    PrintMessage("fettle: {}\n", OneLine(failure.what()));
    Json document = ErrorJson(failure);
    document["input"] = job.input.string();
    return {.document = std::move(document), .code = failure.code()};
  }
}

/// Those that were begun before a stop.
std::vector<std::optional<Outcome>> Outcomes(const std::vector<JobOptions>& jobs,
                                             const Arguments& arguments, std::stop_token stop) {
  std::vector<std::optional<Outcome>> outcomes(jobs.size());
  std::atomic<size_t> next = 0;
  std::mutex printing;
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size() && !stop.stop_requested(); i = next++) {
      outcomes[i] = EnhanceOrFail(jobs[i], arguments, stop);
      const std::lock_guard lock(printing);
      if (!arguments.json) fmt::print("{}", outcomes[i]->text);
      std::fflush(stdout);
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 1; i < arguments.jobs; ++i) workers.emplace_back(work);
  work();
  workers.clear();
  return outcomes;
}

/// What the whole output shows takes the place of what was foreseen; what is new is said.
void TakeLosses(const JobResult& result, Plan& plan) {
  for (const std::string& loss : result.losses)
    if (std::ranges::find(plan.losses, loss) == plan.losses.end()) Warn(loss);
  plan.losses = result.losses;
}

}  // namespace

Outcome EnhanceOne(JobOptions options, const Arguments& arguments, std::stop_token stop) {
  const bool alone = arguments.jobs == 1;
  if (const std::optional<Outcome> done = OutcomeOfDone(options)) return *done;
  if (!options.restart) JobFolder::Settle(options);
  options.threads = ThreadsOf(options, arguments.jobs);
  Plan plan = MakePlan(options);
  if (!options.plan_only)
    for (const std::string& loss : plan.losses) Warn(loss);
  Outcome outcome;
  if ((options.plan_only || options.explain) && !arguments.json)
    outcome.text = PlanText(plan, options.explain);
  if (options.plan_only) {
    outcome.document = PlanJson(plan);
    return outcome;
  }
  if (!outcome.text.empty()) outcome.text += "\n";
  if (alone) {
    fmt::print("{}", std::exchange(outcome.text, {}));
    std::fflush(stdout);
  }
  if (options.preview) plan.previews = MakePreviewFolder(plan.output);
  plan.pictures = !options.report.empty();
  const JobResult result = RunJob(plan, options.restart, alone, stop);
  if (result.frames_out > 0 && !plan.picture) TakeLosses(result, plan);
  for (const std::string& sentence : result.warnings) Warn(sentence);
  if (!arguments.json) outcome.text += ResultText(plan, result);
  if (!options.report.empty()) WriteWhole(options.report, ReportPage(plan, result));
  outcome.document = ResultJson(plan, result);
  if (result.damaged > 0) {
    Warn(fmt::format("{}: {} damaged {}; the output has the {} frames that could be decoded",
                     plan.input.string(), result.damaged, result.damaged == 1 ? "place" : "places",
                     result.frames_out));
    outcome.code = kExitFailed;
  }
  return outcome;
}

int EnhanceAll(const Batch& batch, const Arguments& arguments, std::stop_token stop) {
  for (const std::string& sentence : batch.left_out) Warn(sentence);
  Json files = Json::array();
  int first_code = kExitOk, failed = 0, skipped = 0;
  for (std::optional<Outcome>& outcome : Outcomes(batch.jobs, arguments, stop)) {
    if (!outcome) continue;
    failed += outcome->code == kExitOk ? 0 : 1;
    skipped += outcome->skipped ? 1 : 0;
    if (first_code == kExitOk) first_code = outcome->code;
    files.push_back(std::move(outcome->document));
  }
  const size_t begun = files.size();
  if (first_code == kExitOk && begun < batch.jobs.size()) first_code = kExitFailed;  // stopped
  if (!stop.stop_requested() && !arguments.job.plan_only) batch.record->NoteEnd();
  if (arguments.json) {
    fmt::print("{}", TextOf(Json{{"kind", "folder"},
                                 {"input", arguments.job.input.string()},
                                 {"files", std::move(files)},
                                 {"failed", failed},
                                 {"skipped", skipped},
                                 {"warnings", batch.left_out}}));
  } else {
    fmt::print("{} files, {} already there, {} {}\n", batch.jobs.size(), skipped, failed,
               stop.stop_requested() ? "failed or stopped" : "failed");
  }
  return first_code;
}

int EnhanceLive(const Arguments& arguments, std::stop_token stop) {
  const LiveResult result = RunLive(arguments.job, arguments.live, stop);
  const std::string text = arguments.json ? TextOf(LiveJson(result)) : LiveText(result);
  std::fputs(text.c_str(), WritesStandardOutput(arguments.job) ? stderr : stdout);
  if (!result.broken.empty())
    Warn(fmt::format("{}: {}; the {} frames until then are in {}", result.input, result.broken,
                     result.frames_out, result.output));
  if (result.damaged > 0)
    Warn(fmt::format("{}: {} damaged {}; the output has the {} frames that could be decoded",
                     result.input, result.damaged, result.damaged == 1 ? "place" : "places",
                     result.frames_out));
  return result.broken.empty() && result.damaged == 0 ? kExitOk : kExitFailed;
}

Failure Caught() {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure;
  } catch (const fettle::Error& error) {
    return {kExitFailed, error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {kExitFailed, FETTLE_OUT_OF_MEMORY, "out of memory"};
  } catch (const std::exception& error) {
    return {kExitFailed, FETTLE_INTERNAL, error.what()};
  }
}

Json ErrorJson(const Failure& failure) {
  return {{"error",
           {{"message", failure.what()},
            {"status", fettle_status_name(failure.status())},
            {"exit_code", static_cast<int>(failure.code())}}}};
}

std::string TextOf(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fettle::enhance
