#include "command/there_already.h"

#include <fmt/format.h>

#include "av/av.h"
#include "job/folder_record.h"
#include "job/job_folder.h"

namespace fettle::enhance {
namespace {

Outcome Skipped(const JobOptions& options, const char* reason) {
  const AVOutputFormat* format = av_guess_format(nullptr, options.output.c_str(), nullptr);
  const bool picture = format != nullptr && (format->flags & AVFMT_NOFILE) != 0;
  Outcome outcome{.text = fmt::format("{}: {}\n", options.output.string(), reason),
                  .skipped = true};
  outcome.document = {{"kind", picture ? "picture" : "video"},
                      {"input", options.input.string()},
                      {"output", options.output.string()},
                      {"skipped_because", reason}};
  return outcome;
}

}  // namespace

std::optional<Outcome> OutcomeOfDone(const JobOptions& options) {
  if (options.plan_only || options.restart || !std::filesystem::exists(options.output))
    return std::nullopt;
  const bool waits = std::filesystem::exists(JobFolder::PathFor(options.output));
  if (waits && !JobFolder::WaitsComplete(options.output)) return std::nullopt;
  if (options.record != nullptr && std::filesystem::is_regular_file(options.input)) {
    const std::optional<int64_t> damaged =
        options.record->Finished(options.input, options.output, options.overwrite);
    if (damaged) {
      JobFolder::RemoveRest(options.output);
      Outcome outcome =
          Skipped(options, *damaged == 0 ? "done by an earlier run"
                                         : "done by an earlier run, of a damaged input");
      outcome.code = *damaged == 0 ? kExitOk : kExitFailed;
      return outcome;
    }
  }
  if (options.skip_existing && !waits) return Skipped(options, "already exists (--skip-existing)");
  return std::nullopt;
}

}  // namespace fettle::enhance
