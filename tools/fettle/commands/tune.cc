// fettle tune: measures, solves, gates, and writes the package.
#include <fmt/core.h>

#include <algorithm>

#include "commands/command.h"
#include "io/tensor_io.h"
#include "jobs/accelerator.h"
#include "jobs/interrupt.h"
#include "jobs/tuning.h"
#include "options/checks.h"
#include "ranges/range_tuning.h"
#include "remote/remote.h"
#include "tuner/model/timetable.h"

namespace fettle::tools {
namespace {

struct TuneOptions {
  JobOptions job;
  TuningOptions tuning;
  std::string output;
  bool no_package = false;
  double compile_seconds = 60;
  RemoteOptions remote;
};

/// The package of what was tuned; empty where none is wanted.
Result<std::string> WritePackage(const TuneOptions& options, const Job& job,
                                 tuner::TuneModelResult& result) {
  if (options.no_package) return std::string();
  const std::string model = options.job.model == "-" ? "model.onnx" : options.job.model;
  auto written =
      tuner::SaveTuned(options.output, model, job.model, job.bound.tensors(), job.session, result);
  if (!written.ok()) return AsWriteFailure(written.status());
  return written;
}

/// What was tuned: at one shape, or at the sizes of `ranges`.
struct Tuned {
  tuner::ShapeRanges ranges;  // none: one shape
  tuner::TuneRangeResult result;
};

void PrintTuning(const TuneOptions& options, const Job& job, const Tuned& tuned,
                 const std::string& path) {
  const tuner::TuneModelResult& result = tuned.result.largest;
  const Device* const accelerator = job.session.accelerator();
  const std::vector<exec::StepProfile> steps = StepsOfTuning(result);
  if (!options.job.common.json) {
    if (!tuned.ranges.empty()) fmt::print("{}", RangeReport(tuned.result));
    fmt::print("{}", TuningText(result, job.session));
    PrintParts({DeviceLine(job.threads, accelerator),
                PrecisionLine(options.job.common, accelerator, steps)});
    if (!path.empty()) fmt::print("wrote {}\n", path);
    return;
  }
  Json document = TuningJson(result, job.session);
  if (!tuned.ranges.empty()) document["range"] = RangeJson(tuned.ranges, tuned.result);
  document["model"] = options.job.model;
  document["package"] = path.empty() ? Json() : Json(path);
  document["device"] = DeviceJson(job.threads, accelerator);
  document["precision"] = PrecisionJson(options.job.common, accelerator, steps);
  document["warnings"] = job.warnings;
  for (const std::string& warning : result.report.warnings) document["warnings"].push_back(warning);
  PrintJson(document);
}

Status TuneInto(const Job& job, const TuneOptions& options, tuner::Store& store, int64_t start,
                Tuned& tuned) {
  TuningOptions tuning = options.tuning;
  tuning.writes_package = !options.no_package;
  tuning.package_path = options.output.empty() ? "package" : options.output;
  if (tuned.ranges.empty()) {
    ASSIGN_OR_RETURN(tuned.result.largest, TuneJob(job, options.job.common, tuning, store, start));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(tuned.result,
                   TuneJobRange(job, options.job, tuned.ranges, tuning, store, start));
  return OkStatus();
}

int Tune(const TuneOptions& options) {
  const int64_t start = NowNs();
  InstallLog(options.job.common.log);
  if (const Status place = CheckWritable(options.output); !place.ok()) return Fail(place);
  StartInterruptThread();
  Tuned tuned;
  if (HasRange(options.job.common.shapes)) {
    auto ranges = ParseShapeRanges(options.job.common.shapes);
    if (!ranges.ok()) return Fail(ranges.status(), kExitUsage);
    tuned.ranges = *std::move(ranges);
  }
  auto job = MakeJob(AtLargest(options.job, tuned.ranges));
  if (!job.ok()) return Fail(job.status());
  if (options.no_package && options.tuning.packed_weights)
    job->warnings.push_back("--packed-weights has no effect without a package");
  PrintWarnings(job->warnings);
  UnmeasuredSeconds parts{.loading = tuner::Seconds(NowNs() - start)};
  const std::shared_ptr<tuner::Store> store = StoreFor(options.job.common);
  // Compilers may hang or crash: all of them run in processes of their own while a device is tuned.
  job->compilers.reset();
  job->compilers = CompileAside(
      options.job.common,
      {.limit_seconds = options.compile_seconds, .most_at_once = 8, .first_here = false});
  const Status done = TuneInto(*job, options, *store, start, tuned);
  if (!done.ok()) return Fail(done);
  const int64_t written = NowNs();
  const Result<std::string> path = WritePackage(options, *job, tuned.result.largest);
  if (!path.ok()) return Fail(path.status());
  parts.writing = tuner::Seconds(NowNs() - written);
  parts.default_plan = tuned.result.largest.default_seconds;
  const std::string over =
      OverBudgetText(options.tuning.budget, tuner::Seconds(NowNs() - start), parts);
  if (!over.empty()) {
    job->warnings.push_back(over);
    PrintWarnings({over});
  }
  PrintTuning(options, *job, tuned, *path);
  return kExitOk;
}

}  // namespace

void RegisterTune(CLI::App& app, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* sub =
      app.add_subcommand("tune", "find the fastest plan for a model and write it as a package");
  AddJobOptions(*sub, options->job);
  AddTuningOptions(*sub, options->tuning);
  DescribeRanges(*sub->get_option("--shape"));
  sub->add_option(
         "--compile-seconds", options->compile_seconds,
         "the longest time to compile one program of an accelerator, in seconds (default 60)")
      ->envname("FETTLE_COMPILE_SECONDS")
      ->check(Between(0.01, 86400.0));
  CLI::Option* output = sub->add_option("-o,--output", options->output,
                                        "the package to write (default MODEL.DEVICE.fettle)");
  sub->add_flag("--packed-weights", options->tuning.packed_weights,
                "store packed weights too: the package is larger and starts sooner")
      ->envname("FETTLE_PACKED_WEIGHTS");
  sub->add_option(
         "--weights", options->job.weights,
         "round the weights of products to this type and store them so (default: keep the model's)")
      ->envname("FETTLE_WEIGHTS")
      ->check(OneOf({"f32", "f16", "i8"}));
  sub->add_flag("--no-package", options->no_package,
                "write no package; keep the measurements in the database")
      ->excludes(output);
  AddRemoteOptions(*sub, options->remote);
  sub->callback([&action, options, sub] {
    action = [options, sub] {
      if (!options->remote.given()) return Tune(*options);
      return RunRemotely(*sub, options->remote, options->job.common, options->output);
    };
  });
}

}  // namespace fettle::tools
