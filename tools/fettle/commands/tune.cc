// fettle tune: measures, solves, gates, and writes the package.
#include <fmt/core.h>

#include "commands/command.h"
#include "jobs/interrupt.h"
#include "jobs/tuning.h"

namespace fettle::tools {
namespace {

struct TuneOptions {
  JobOptions job;
  TuningOptions tuning;
  std::string output;
  bool no_package = false;
};

int Tune(const TuneOptions& options) {
  const int64_t start = NowNs();
  InstallLog(options.job.common.log);
  StartInterruptThread();
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const std::shared_ptr<tuner::Store> store = StoreFor(options.job.common);
  auto result = TuneJob(*job, options.job.common, options.tuning, *store, start);
  if (!result.ok()) return Fail(result.status());
  std::string path;
  if (!options.no_package) {
    auto written = runtime::SaveTuned(options.output, options.job.model, job->model,
                                      job->bound.tensors(), job->session, *result);
    if (!written.ok()) return Fail(AsWriteFailure(written.status()));
    path = *written;
  }
  if (options.job.common.json) {
    Json document = TuningJson(*result);
    document["model"] = options.job.model;
    document["package"] = path.empty() ? Json() : Json(path);
    document["device"] = DeviceJson(job->threads, job->session.accelerator());
    document["warnings"] = job->warnings;
    PrintJson(document);
  } else {
    fmt::print("{}{}\n", TuningText(*result), DeviceLine(job->threads, job->session.accelerator()));
    if (!path.empty()) fmt::print("wrote {}\n", path);
  }
  return kExitOk;
}

}  // namespace

void RegisterTune(CLI::App& app, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* sub = app.add_subcommand("tune", "measure and keep the best plan for a model");
  AddJobOptions(*sub, options->job);
  AddTuningOptions(*sub, options->tuning);
  CLI::Option* output =
      sub->add_option("-o,--output", options->output, "package (default MODEL.DEVICE.fettle)");
  sub->add_flag("--no-package", options->no_package, "keep what was learned in the database alone")
      ->excludes(output);
  sub->callback([&action, options] { action = [options] { return Tune(*options); }; });
}

}  // namespace fettle::tools
