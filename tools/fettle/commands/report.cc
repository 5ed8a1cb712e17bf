// fettle report: one page about a model on this device.
#include <fmt/core.h>

#include <filesystem>

#include "base/clock.h"
#include "commands/command.h"
#include "io/tensor_io.h"
#include "jobs/interrupt.h"
#include "model_report/model_report.h"
#include "options/checks.h"
#include "page/page.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

struct ReportOptions {
  ModelReportOptions report;
  std::string output;
};

/// "resnet50.html" of "models/resnet50.onnx".
std::string DefaultPageName(const std::string& model) {
  std::string name = model == "-" ? "model" : model.substr(model.find_last_of('/') + 1);
  for (const std::string_view ending : {".onnx", ".fettle"})
    if (name.ends_with(ending)) name = name.substr(0, name.size() - ending.size());
  return name + ".html";
}

/// Names with no ending, "/dev/stdout", are the user's affair.
bool IsNamedAsPage(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension();
  return ending.empty() || ending == ".html" || ending == ".htm";
}

Json ReportJson(const ReportOptions& options, const ModelReport& report, int64_t start) {
  const Json& data = report.data;
  // One latency and one gain, as on the page.
  const double latency = data["latency_ms"]["median"];
  const Json& gain = data["comparison"].is_null() ? Json(1) : data["comparison"]["ratio"];
  return {{"model", options.report.job.model},
          {"path", options.output},
          {"seconds", static_cast<double>(NowNs() - start) * 1e-9},
          {"latency_ms", data["latency_ms"]["median"]},
          {"default_ms", gain.is_null() ? Json(nullptr) : Json(latency / gain.get<double>())},
          {"plan", data["plan"]},
          {"roofline_share", data["roofline_share"]},
          {"operators", data["ops"].size()},
          {"device", data["device"]},
          {"precision", data["precision"]},
          {"warnings", data["warnings"]}};
}

int WriteReport(ReportOptions options) {
  InstallLog(options.report.job.common.log);
  StartInterruptThread();
  const int64_t start = NowNs();
  if (const Status status = CheckPages(); !status.ok()) return Fail(status);
  if (options.output.empty()) options.output = DefaultPageName(options.report.job.model);
  if (!IsNamedAsPage(options.output))
    return FailUsage(fmt::format("-o {}: report writes HTML; name the page .html", options.output));
  if (const Status place = CheckWritable(options.output); !place.ok()) return Fail(place);
  auto job = MakeJob(options.report.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const auto report = MakeModelReport(options.report, *job);
  if (!report.ok()) return Fail(report.status());
  const Status written =
      WritePage(options.output, kReportPage, "Fettle: " + options.report.job.model, report->data);
  if (!written.ok())
    return Fail(written.code() == StatusCode::kUnsupported ? written : AsWriteFailure(written));
  const Json document = ReportJson(options, *report, start);
  if (options.report.job.common.json) {
    PrintJson(document);
    return kExitOk;
  }
  PrintParts({fmt::format("median {:.3f} ms", document["latency_ms"].get<double>()),
              fmt::format("plan: {}", document["plan"].get<std::string>()),
              fmt::format("roofline {:.0f} %", 100 * document["roofline_share"].get<double>()),
              Count(document["operators"].get<int64_t>(), "step"),
              fmt::format("{:.1f} s", document["seconds"].get<double>())});
  PrintParts({DeviceLine(job->threads, job->session.accelerator()),
              PrecisionLine(options.report.job.common, job->session.accelerator(), report->steps)});
  fmt::print("{}\n", Fit("wrote " + options.output));
  return kExitOk;
}

}  // namespace

void RegisterReport(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* sub =
      app.add_subcommand("report", "write one HTML page: times, operators, reasons, the device");
  AddJobOptions(*sub, options->report.job);
  sub->add_option("-o,--output", options->output, "the page to write (default MODEL.html)");
  AddTuningOptions(*sub, options->report.tuning);
  sub->get_option("--budget")
      ->description("tune first, for this many seconds (default: no tuning)");
  sub->add_option("--seconds", options->report.seconds,
                  "time of the timed inferences, in seconds (default 2)")
      ->check(Between(0.0, 86400.0));
  sub->add_flag("!--no-accuracy", options->report.accuracy,
                "do not compare with the scalar reference");
  sub->add_flag("!--no-advice", options->report.advice, "do not measure changes of the network");
  sub->callback([&action, options] { action = [options] { return WriteReport(*options); }; });
}

}  // namespace fettle::tools
