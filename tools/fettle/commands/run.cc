// fettle run: one inference.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "base/clock.h"
#include "commands/command.h"
#include "io/gzip.h"
#include "io/named_argument.h"
#include "io/outputs.h"
#include "io/tensor_io.h"
#include "jobs/interrupt.h"
#include "jobs/plans.h"
#include "options/checks.h"
#include "report/profile_table.h"
#include "report/report.h"
#include "report/start_report.h"
#include "report/table.h"
#include "start/late_device.h"

namespace fettle::tools {
namespace {

constexpr size_t kSummaryRows = 12;

struct RunOptions {
  JobOptions job;
  LoadAndRunFlags load_and_run;
  std::vector<std::string> outputs;
  std::string labels;
  int top = 5;
  int iters = 1;
  int warmup = 0;
  std::string start = "ready";
  SortOrder sort = SortOrder::kOwn;
};

/// One of the largest elements of an output.
struct Ranked {
  int64_t index = 0;
  double value = 0;
  std::string label;
};

struct RunResult {
  std::map<std::string, Tensor> outputs;
  std::map<std::string, std::string> files, input_files;
  std::vector<std::string> labels;
  std::vector<exec::StepProfile> profile;
  double ms = 0;
  runtime::StartState start;
  std::shared_ptr<LateDevice> late;           // null: what the job's session has is open
  std::shared_ptr<runtime::Session> session;  // ends last, where it waits for a compiler
};

Result<std::vector<std::string>> ReadLabels(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadMaybeGzip(path));
  std::istringstream file(std::move(text));
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  return labels;
}

std::vector<Ranked> TopOf(const Tensor& tensor, const RunResult& result, int count) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.elements()));
  std::iota(order.begin(), order.end(), 0);
  const HostView view = tensor.view();
  const auto keep = order.begin() + std::min<ptrdiff_t>(count, std::ssize(order));
  const auto rank = [&](int64_t at) {
    const double value = view.GetDouble(at);
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::partial_sort(order.begin(), keep, order.end(),
                    [&](int64_t a, int64_t b) { return rank(a) > rank(b); });
  std::vector<Ranked> top;
  for (auto it = order.begin(); it != keep; ++it) {
    const auto at = static_cast<size_t>(*it);
    top.push_back({*it, view.GetDouble(*it), at < result.labels.size() ? result.labels[at] : ""});
  }
  return top;
}

Status Execute(const RunOptions& options, const OutputPlan& plan, Job& job,
               const ChosenPlans& plans, RunResult& result) {
  runtime::SessionOptions wanted = job.session;
  wanted.extra_outputs = plan.extra;
  wanted.plans = plans.source;
  wanted.waits_for_steps = true;
  wanted.starts_fast = options.start == "fast";
  ASSIGN_OR_RETURN(result.session, SessionOf(job.model, wanted, result.late));
  runtime::Session* const session = result.session.get();
  const InterruptScope interrupt([&] { session->Cancel(); });
  RETURN_IF_ERROR(session->Prepare(job.bound.shapes()));
  const std::map<std::string, Tensor> inputs = job.bound.tensors();
  std::vector<double> times;
  for (int i = 0; i < options.warmup + options.iters; ++i) {
    if (InterruptScope::Interrupted()) return Error(StatusCode::kCancelled, "interrupted");
    const int64_t start = NowNs();
    RETURN_IF_ERROR(session->Run(inputs, &result.outputs));
    if (i >= options.warmup) times.push_back(static_cast<double>(NowNs() - start) * 1e-6);
  }
  std::sort(times.begin(), times.end());
  result.ms = times[times.size() / 2];
  result.profile = session->profile();
  result.start = session->start();
  if (result.late != nullptr && result.late->device() != nullptr)
    job.session.accelerators = {result.late->device()};
  job.warnings = WarningsOf(job, plans);
  return OkStatus();
}

/// The outputs in the order of the model, then the extra ones.
std::vector<std::string> OutputOrder(const Job& job, const OutputPlan& plan) {
  std::vector<std::string> names;
  for (ir::ValueId id : job.model->graph().outputs)
    names.push_back(job.model->graph().value(id).name);
  names.insert(names.end(), plan.extra.begin(), plan.extra.end());
  return names;
}

std::string FileOf(const std::map<std::string, std::string>& files, const std::string& name) {
  const auto it = files.find(name);
  return it == files.end() ? "" : it->second;
}

Json FileJson(const std::map<std::string, std::string>& files, const std::string& name) {
  const std::string file = FileOf(files, name);
  return file.empty() ? Json(nullptr) : Json(file);
}

void PrintJsonResult(const RunOptions& options, const Job& job, const RunResult& result,
                     const std::vector<std::string>& names) {
  Json document = {{"model", options.job.model}, {"ms", result.ms}};
  document["outputs"] = Json::array();
  for (const std::string& name : names) {
    const Tensor& tensor = result.outputs.at(name);
    const TensorStats stats = StatsOf(tensor);
    Json output = {{"name", name},
                   {"dtype", DTypeName(tensor.dtype())},
                   {"shape", ShapeJson(tensor.shape())},
                   {"min", NumberJson(stats.min)},
                   {"max", NumberJson(stats.max)},
                   {"mean", NumberJson(stats.mean)},
                   {"nonfinite", stats.nonfinite},
                   {"file", FileJson(result.files, name)}};
    if (!result.labels.empty()) {
      for (const Ranked& ranked : TopOf(tensor, result, options.top))
        output["top"].push_back({{"index", ranked.index},
                                 {"value", NumberJson(ranked.value)},
                                 {"label", ranked.label}});
    }
    document["outputs"].push_back(std::move(output));
  }
  document["inputs"] = Json::array();
  for (const BoundInput& input : job.bound.inputs) {
    document["inputs"].push_back({{"name", input.name},
                                  {"dtype", DTypeName(input.tensor.dtype())},
                                  {"shape", ShapeJson(input.tensor.shape())},
                                  {"file", FileJson(result.input_files, input.name)}});
  }
  document["precision"] =
      PrecisionJson(options.job.common, job.session.accelerator(), result.profile);
  document["device"] = DeviceJson(job.threads, job.session.accelerator());
  document["start"] = StartJson(result.start);
  document["warnings"] = job.warnings;
  PrintJson(document);
}

void PrintTables(const RunOptions& options, const Job& job, const RunResult& result,
                 const std::vector<std::string>& names) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"value"},
               {"type"},
               {"shape"},
               {.title = "min", .align = kRight, .leaves = 2},
               {.title = "max", .align = kRight, .leaves = 3},
               {.title = "mean", .align = kRight, .leaves = 1}});
  // Below the table, where each stands whole on a line and can be copied.
  std::string files;
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-";
  };
  const auto add = [&](const std::string& name, const Tensor& tensor, const std::string& file) {
    const TensorStats stats = StatsOf(tensor);
    table.Row({name, std::string(DTypeName(tensor.dtype())), tensor.shape().ToString(),
               number(stats.min), number(stats.max), number(stats.mean)});
    if (!file.empty()) files += fmt::format("{}: {}\n", name, file);
  };
  for (const BoundInput& input : job.bound.inputs)
    add("in  " + input.name, input.tensor, input.source.empty() ? "(seeded)" : input.source);
  for (const std::string& name : names)
    add("out " + name, result.outputs.at(name), FileOf(result.files, name));
  fmt::print("{}{}\n{}\n", table.ToString(), files,
             SummariseProfile(result.profile, kSummaryRows, options.sort));
  fmt::print("{}", StartLine(result.start, result.late == nullptr ? "" : result.late->name(),
                             job.session.accelerator()));
  for (const std::string& name : names) {
    if (result.labels.empty()) break;
    for (const Ranked& ranked : TopOf(result.outputs.at(name), result, options.top))
      fmt::print("{:6}  {:10.5f}  {}\n", ranked.index, ranked.value, ranked.label);
  }
  PrintParts({fmt::format("{:.2f} ms", result.ms),
              DeviceLine(job.threads, job.session.accelerator()),
              PrecisionLine(options.job.common, job.session.accelerator(), result.profile)});
}

/// Options that this run has no use for.
void AddUnused(const RunOptions& options, const OutputPlan& plan, bool is_late, Job& job) {
  if (options.start == "fast" && !is_late && job.session.accelerator() == nullptr)
    job.warnings.push_back("--start fast has no effect: the CPU computes alone");
  if (options.labels.empty() && options.top != RunOptions().top)
    job.warnings.push_back("--top has no effect without --labels");
  const bool writes_picture =
      std::any_of(plan.files.begin(), plan.files.end(),
                  [](const auto& file) { return IsPictureName(file.second); });
  if (options.job.preprocess != JobOptions().preprocess && !job.bound.picture && !writes_picture)
    job.warnings.push_back(
        fmt::format("--preprocess {} has no effect: there is no picture", options.job.preprocess));
}

/// The names where all arguments are NAME=FILE; empty where one asks for other outputs, too.
std::vector<std::string> NamesIn(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const std::string& argument : arguments) {
    std::vector<std::string> possible = PossibleNames(argument);
    if (possible.empty()) return {};
    std::ranges::move(possible, std::back_inserter(names));
  }
  return names;
}

/// What no model could make right, or "".
std::string WrongUsage(const RunOptions& options) {
  for (const std::string& output : options.outputs) {
    if (IsForeignPictureName(output))
      return fmt::format("-o {}: pictures are written as .png or .jpg", output);
    if (IsArchiveName(output))
      return fmt::format("-o {}: arrays are written as .npy, each in a file of its own", output);
  }
  return "";
}

/// Whether the CPU answers before the device is open. What a package or a tuning does depends on
/// the device.
bool OpensLate(const RunOptions& options) {
  return options.start == "fast" && LateDevice::Suits(options.job.common) &&
         !options.load_and_run.fast_run && options.load_and_run.layout_transform.empty() &&
         !options.job.model.ends_with(".fettle");
}

Result<Job> JobOf(const RunOptions& options, bool is_late) {
  JobOptions asked = options.job;
  asked.asked = NamesIn(options.outputs);
  if (is_late) asked.common = LateDevice::OnTheCpu(asked.common);
  return MakeJob(asked);
}

int Run(const RunOptions& options) {
  InstallLog(options.job.common.log);
  StartInterruptThread();
  const bool is_late = OpensLate(options);
  auto job = JobOf(options, is_late);
  if (!job.ok()) return Fail(job.status());
  RunResult result;
  if (is_late) result.late = std::make_shared<LateDevice>(options.job.common);
  if (!options.labels.empty()) {
    auto labels = ReadLabels(options.labels);
    if (!labels.ok()) return Fail(AsInvalidInput(labels.status()));
    result.labels = *labels;
  }
  auto plan = PlanOutputs(*job->model, options.outputs);
  if (!plan.ok()) return Fail(plan.status());
  if (WritesToStandardOutput(*plan) && options.job.common.json)
    return FailUsage("-o -: standard output cannot hold the output and --json");
  AddUnused(options, *plan, is_late, *job);
  PrintWarnings(job->warnings);
  const auto plans = ChoosePlans(*job, options.job, options.load_and_run);
  if (!plans.ok()) return Fail(plans.status());
  if (!options.job.common.json && !WritesToStandardOutput(*plan)) fmt::print("{}", plans->tuning);
  const Status status = Execute(options, *plan, *job, *plans, result);
  if (!status.ok()) return Fail(status);
  auto files = WriteOutputs(*plan, result.outputs, *ParsePreprocess(options.job.preprocess),
                            job->bound.picture);
  if (!files.ok()) return Fail(files.status());
  result.files = *files;
  auto input_files = WriteInputs(*plan, job->bound);
  if (!input_files.ok()) return Fail(input_files.status());
  result.input_files = *input_files;
  const std::vector<std::string> names = OutputOrder(*job, *plan);
  if (WritesToStandardOutput(*plan)) return kExitOk;
  if (options.job.common.json)
    PrintJsonResult(options, *job, result, names);
  else
    PrintTables(options, *job, result, names);
  std::fflush(stdout);  // the session may have to wait for a compiler
  return kExitOk;
}

int CheckAndRun(const RunOptions& options) {
  const std::string usage = WrongUsage(options);
  return usage.empty() ? Run(options) : FailUsage(usage);
}

}  // namespace

void RegisterRun(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "run a model once and write its outputs");
  AddJobOptions(*sub, options->job);
  AddLoadAndRunFlags(*sub, options->load_and_run);
  sub->add_option("-o,--output", options->outputs,
                  "FILE (- is standard output), DIR/ for all outputs, or NAME=FILE; may be given "
                  "for each output")
      ->take_all()
      ->expected(1);
  AddSort(*sub, options->sort);
  sub->add_option("--start", options->start,
                  "fast: the CPU answers until the device's programs are compiled (default ready)")
      ->envname("FETTLE_START")
      ->check(OneOf({"ready", "fast"}));
  sub->add_option("--labels", options->labels,
                  "file of labels, one for each element of the output");
  sub->add_option("--top", options->top,
                  "how many of the largest elements to print with --labels (default 5)")
      ->check(Between(1, 1000));
  sub->add_option("--iters,--iter", options->iters,
                  "timed inferences; the median is printed (default 1)")
      ->check(Between(1, 1000000));
  sub->add_option("--warmup,--warmup-iter", options->warmup, "inferences before those (default 0)")
      ->check(Between(0, 1000000));
  sub->callback([&action, options] {
    ChooseTarget(options->load_and_run, options->job.common);
    action = [options] { return CheckAndRun(*options); };
  });
}

}  // namespace fettle::tools
