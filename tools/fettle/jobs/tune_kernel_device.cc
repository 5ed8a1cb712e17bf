// fettle tune-kernel on a device: builds, runs, checks and times the configurations of a search.
#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "io/tuning_json.h"
#include "jobs/interrupt.h"
#include "jobs/tune_kernel.h"
#include "jobs/tuning.h"
#include "jobs/user_kernel.h"
#include "kernels/build_id.h"
#include "report/progress.h"
#include "report/table.h"
#include "report/terminal.h"
#include "tuner/search/remembered_search.h"

namespace fettle::tools {
namespace {

/// A configuration without a time.
struct RejectedPoint {
  tuner::Point point;
  bool is_wrong = false;
  std::string reason;
};

struct DeviceOutcome {
  std::unique_ptr<tuner::RememberedSearch> search;
  tuner::Point start;
  std::optional<double> start_ms;
  std::vector<RejectedPoint> rejected;
  std::string device, platform;
  bool interrupted = false;
};

/// Rows of the database are of one text of the kernel with one set of arguments.
tuner::RowKey KeyOf(const UserKernel& kernel, const OpenClDevice& device) {
  std::string text = kernel.tuned.source + "\n" + kernel.tuned.options;
  for (const std::string& size : kernel.tuned.global) text += "\n" + size;
  for (const std::string& size : kernel.tuned.local) text += "\n" + size;
  for (const UserArgument& argument : kernel.arguments)
    text += fmt::format("\n{} {} {} {}", argument.name, DTypeName(argument.type), argument.elements,
                        argument.fill);
  return {.problem = fmt::format("user kernel {:016x}", HashText(text)),
          .kernel = kernel.tuned.name,
          .device = std::string(device.fingerprint()),
          .build = std::string(kernels::BuildId())};
}

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// Runs what the search asks for, until it asks no more or the user has had enough.
void RunSearch(UserKernelRunner& runner, int64_t evals, const tuner::SearchSpace& space,
               DeviceOutcome& outcome) {
  Progress progress("tuning", evals);
  const InterruptScope interrupt([] {});
  while (!InterruptScope::Interrupted()) {
    const std::optional<tuner::Point> point = outcome.search->Ask();
    if (!point) break;
    bool is_wrong = false;
    const auto times = runner.Run(space, *point, &is_wrong);
    if (times.ok()) {
      outcome.search->Tell(times->ms);
    } else {
      std::string reason = FirstLine(times.status().message());
      outcome.search->Tell(std::nullopt,
                           is_wrong ? tuner::Row::Status::kWrong : tuner::Row::Status::kFailed,
                           reason);
      outcome.rejected.push_back({*point, is_wrong, std::move(reason)});
    }
    progress.Update(static_cast<int64_t>(outcome.search->search().history().size()));
  }
  outcome.interrupted = InterruptScope::Interrupted();
}

Result<DeviceOutcome> SearchOnDevice(const TuneKernelOptions& options,
                                     const tuner::SearchSpace& space) {
  ASSIGN_OR_RETURN(UserKernel kernel, ReadUserKernel(options.spec, space.parameters()));
  ASSIGN_OR_RETURN(auto device, OpenNamedDevice(options.common.device));
  DeviceOutcome outcome;
  outcome.device = device->facts().name;
  outcome.platform = device->facts().platform;
  ASSIGN_OR_RETURN(outcome.start, space.Find(kernel.defaults));
  tuner::RowKey key = KeyOf(kernel, *device);
  const StreamOptions stream{.queue_window = static_cast<int>(options.common.queue_window),
                             .kernel_ms = options.common.kernel_ms};
  ASSIGN_OR_RETURN(const auto runner, UserKernelRunner::Create(std::move(kernel), std::move(device),
                                                               stream, options.common.seed));
  ASSIGN_OR_RETURN(tuner::SearchOptions settings, MakeSearchOptions(options, space));
  if (space.Valid(outcome.start)) settings.seeds.insert(settings.seeds.begin(), outcome.start);
  ASSIGN_OR_RETURN(
      tuner::RememberedSearch search,
      tuner::RememberedSearch::Create(space, settings, StoreFor(options.common), std::move(key)));
  outcome.search = std::make_unique<tuner::RememberedSearch>(std::move(search));
  RunSearch(*runner, options.evals, space, outcome);
  for (const tuner::Evaluation& evaluation : outcome.search->search().history().evaluations())
    if (evaluation.point == outcome.start) outcome.start_ms = evaluation.ms;
  return outcome;
}

Json OutcomeJson(const TuneKernelOptions& options, const DeviceOutcome& outcome) {
  const tuner::Search& search = outcome.search->search();
  const tuner::SearchSpace& space = search.history().space();
  const tuner::Evaluation* const best = search.best();
  Json rejected = Json::array();
  for (const RejectedPoint& point : outcome.rejected)
    rejected.push_back({{"params", ParametersJson(space, point.point)},
                        {"wrong", point.is_wrong},
                        {"reason", point.reason}});
  Json best_json = nullptr;
  if (best) best_json = {{"params", ParametersJson(space, best->point)}, {"ms", *best->ms}};
  const bool both = best != nullptr && outcome.start_ms.has_value();
  return {
      {"best", best_json},
      {"default",
       {{"params", ParametersJson(space, outcome.start)},
        {"ms", outcome.start_ms ? Json(*outcome.start_ms) : Json(nullptr)}}},
      {"speedup", both ? Json(*outcome.start_ms / *best->ms) : Json(nullptr)},
      {"evaluations", search.history().size()},
      {"reused", outcome.search->reused()},
      {"failed", search.history().size() - search.history().fastest().size()},
      {"rejected", std::move(rejected)},
      {"seconds", search.seconds()},
      {"share_of_optimum", nullptr},
      {"strategy", options.strategy},
      {"seed", options.common.seed},
      {"device", {{"kind", "opencl"}, {"platform", outcome.platform}, {"name", outcome.device}}},
      {"interrupted", outcome.interrupted}};
}

void Print(const DeviceOutcome& outcome) {
  const tuner::Search& search = outcome.search->search();
  const tuner::SearchSpace& space = search.history().space();
  const tuner::Evaluation* const best = search.best();
  Table table({{"parameter"}, {"default"}, {"best found"}});
  for (int i = 0; i < space.dimensions(); ++i)
    table.Row({space.parameters()[static_cast<size_t>(i)].name,
               tuner::PrintValue(space.ValueOf(outcome.start, i)),
               best ? tuner::PrintValue(space.ValueOf(best->point, i)) : ""});
  table.Row({"ms", outcome.start_ms ? fmt::format("{:.4g}", *outcome.start_ms) : "none",
             best ? fmt::format("{:.4g}", *best->ms) : "no configuration ran"});
  fmt::print("{}\n", table.ToString());
  for (const RejectedPoint& point : outcome.rejected)
    fmt::print("{}\n", Fit(fmt::format("rejected {}: {}", space.Print(point.point), point.reason)));
  std::vector<std::string> parts;
  if (best && outcome.start_ms)
    parts.push_back(fmt::format("{:.2f}x the default", *outcome.start_ms / *best->ms));
  parts.push_back(fmt::format("{}, {} of them remembered",
                              Count(static_cast<int64_t>(search.history().size()), "configuration"),
                              outcome.search->reused()));
  parts.push_back(fmt::format("{:.1f} s", search.seconds()));
  parts.push_back(fmt::format("{} ({})", outcome.device, outcome.platform));
  PrintParts(parts);
}

}  // namespace

int TuneOnDevice(const TuneKernelOptions& options, const tuner::SearchSpace& space) {
  const auto outcome = SearchOnDevice(options, space);
  if (!outcome.ok()) return Fail(outcome.status());
  const tuner::Search& search = outcome->search->search();
  if (!options.output.empty()) {
    const Status written =
        WriteTextFile(options.output, PrintT4(space, search.history().evaluations()));
    if (!written.ok()) return Fail(AsWriteFailure(written));
  }
  if (options.common.json)
    PrintJson(OutcomeJson(options, *outcome));
  else
    Print(*outcome);
  if (outcome->interrupted) return kExitFailed;
  return search.best() != nullptr ? kExitOk : kExitDiffers;
}

}  // namespace fettle::tools
