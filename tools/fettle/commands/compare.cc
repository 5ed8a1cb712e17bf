// fettle compare: results against the reference, node by node and end to end.
#include <fmt/core.h>

#include <algorithm>

#include "commands/command.h"
#include "io/tensor_io.h"
#include "jobs/interrupt.h"
#include "jobs/job.h"
#include "options/checks.h"
#include "remote/remote.h"
#include "report/judgement.h"
#include "report/node_comparison.h"
#include "report/output_comparison.h"
#include "report/progress.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

struct CompareOptions {
  JobOptions job;
  std::string against = "reference";
  double atol = -1, rtol = -1;  // below 0: not given
  bool nodes = true;
  RemoteOptions remote;

  Limits limits() const {
    Limits limits;
    if (atol >= 0) limits.atol = atol;
    if (rtol >= 0) limits.rtol = rtol;
    return limits;
  }
};

Json ToleranceJson(const Limits& limits) {
  if (limits.given()) return {{"atol", limits.atol.value_or(0)}, {"rtol", limits.rtol.value_or(0)}};
  return {{"range_share", limits.floats.range_share},
          {"sqnr_db", limits.floats.sqnr_db},
          {"quantised_steps", 1},
          {"quantised_share", 1 - kQuantisedOutliers}};
}

std::string FirstBad(const NodeComparisons& nodes) {
  for (const NodeComparison& node : nodes.nodes)
    if (!node.judgement.ok) return node.node;
  return "";
}

void PrintJsonReport(const CompareOptions& options, const Job& job,
                     const OutputComparisons& compared, const NodeComparisons& nodes) {
  Json document = {{"model", options.job.model}, {"against", options.against}};
  document["outputs"] = Json::array();
  for (const OutputComparison& output : compared.outputs) {
    Json entry = {{"name", output.name}};
    entry.update(JudgementJson(output.judgement));
    entry["rule"] = output.judgement.rule;
    document["outputs"].push_back(std::move(entry));
  }
  document["tolerance"] = ToleranceJson(compared.limits);
  const std::string first_bad = FirstBad(nodes);
  document["first_bad_node"] = first_bad.empty() ? Json(nullptr) : Json(first_bad);
  document["nodes"] = Json::array();
  for (const NodeComparison& node : nodes.nodes) {
    Json entry = {{"node", node.node}, {"op", node.op}, {"kernel", node.kernel}};
    entry.update(JudgementJson(node.judgement));
    document["nodes"].push_back(std::move(entry));
  }
  document["nodes_left_out"] = nodes.left_out;
  document["precision"] =
      PrecisionJson(options.job.common, job.session.accelerator(), compared.steps);
  document["device"] = DeviceJson(job.threads, job.session.accelerator());
  document["warnings"] = job.warnings;
  PrintJson(document);
}

/// "max abs" to "ok".
std::vector<std::string> Cells(const Judgement& judgement) {
  const Difference& d = judgement.difference;
  return {fmt::format("{:.3g}", d.max_abs), fmt::format("{:.3g}", d.max_rel),
          fmt::format("{:.1f}", d.sqnr_db), fmt::format("{:.6f}", d.cosine),
          judgement.ok ? "yes" : "NO"};
}

void PrintOutputs(const std::vector<OutputComparison>& outputs) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"output"},
               {"max abs", kRight},
               {"max rel", kRight},
               {"SQNR dB", kRight},
               {"cosine", kRight},
               {"ok"},
               {.title = "tolerance", .narrow = Table::Narrow::kWrap}});
  for (const OutputComparison& output : outputs) {
    std::vector<std::string> row = {output.name};
    for (std::string& cell : Cells(output.judgement)) row.push_back(std::move(cell));
    row.push_back(output.judgement.rule);
    table.Row(row);
  }
  fmt::print("{}", table.ToString());
}

/// The ten least exact.
void PrintNodes(const NodeComparisons& nodes) {
  std::vector<NodeComparison> worst = nodes.nodes;
  std::stable_sort(worst.begin(), worst.end(),
                   [](const NodeComparison& a, const NodeComparison& b) {
                     return a.judgement.difference.sqnr_db < b.judgement.difference.sqnr_db;
                   });
  worst.resize(std::min<size_t>(worst.size(), 10));
  constexpr auto kRight = Table::Align::kRight;
  Table list({{"node"},
              {.title = "operator", .leaves = 3},
              {"kernel"},
              {"max abs", kRight},
              {.title = "max rel", .align = kRight, .leaves = 2},
              {"SQNR dB", kRight},
              {.title = "cosine", .align = kRight, .leaves = 1},
              {"ok"}});
  for (const NodeComparison& node : worst) {
    std::vector<std::string> row = {node.node, node.op, node.kernel};
    for (std::string& cell : Cells(node.judgement)) row.push_back(std::move(cell));
    list.Row(row);
  }
  if (!worst.empty())
    fmt::print("\n{} on the reference's inputs; the least exact:\n{}",
               Count(std::ssize(nodes.nodes), "group"), list.ToString());
  if (nodes.left_out > 0)
    fmt::print("{} after a data-dependent shape or in sub-graphs: compared by the outputs only\n",
               Count(nodes.left_out, "node"));
  const std::string first_bad = FirstBad(nodes);
  if (!first_bad.empty()) fmt::print("first node over the tolerance: {}\n", first_bad);
}

void PrintTables(const CompareOptions& options, const Job& job, const OutputComparisons& compared,
                 const NodeComparisons& nodes) {
  PrintOutputs(compared.outputs);
  PrintNodes(nodes);
  PrintParts({DeviceLine(job.threads, job.session.accelerator()),
              PrecisionLine(options.job.common, job.session.accelerator(), compared.steps)});
}

int Compare(const CompareOptions& options) {
  InstallLog(options.job.common.log);
  StartInterruptThread();
  if (options.against != "reference" && !IsDirectory(options.against) &&
      !FileExists(options.against)) {
    return Fail(InvalidArgument("--against {}: expected reference, a model, a package or a folder",
                                options.against));
  }
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  auto outputs = CompareOutputs({options.against, options.job.strict}, *job, options.limits());
  if (!outputs.ok()) return Fail(outputs.status());
  NodeComparisons nodes;
  if (options.nodes && options.against == "reference") {
    Progress progress("compare", 0);
    const InterruptScope interrupt(EndAtOnce);
    auto compared =
        CompareNodes(*job->model, job->bound.tensors(), *outputs->session, outputs->limits,
                     [&](double share) { progress.UpdateFraction(share); });
    if (!compared.ok()) return Fail(compared.status());
    nodes = *std::move(compared);
  }
  if (options.job.common.json) {
    PrintJsonReport(options, *job, *outputs, nodes);
  } else {
    PrintTables(options, *job, *outputs, nodes);
  }
  const bool ok = std::all_of(outputs->outputs.begin(), outputs->outputs.end(),
                              [](const OutputComparison& output) { return output.judgement.ok; });
  return ok ? kExitOk : kExitDiffers;
}

}  // namespace

void RegisterCompare(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* sub = app.add_subcommand("compare", "compare results with the scalar reference");
  AddJobOptions(*sub, options->job);
  sub->add_option("--against", options->against,
                  "what to compare with: reference (default), another model or a package of the "
                  "same inputs and outputs, or a folder of expected outputs");
  sub->add_option("--atol", options->atol, "absolute tolerance (default: by the precision used)")
      ->check(NonNegative<double>());
  sub->add_option("--rtol", options->rtol, "relative tolerance (default: by the precision used)")
      ->check(NonNegative<double>());
  sub->add_flag("!--outputs-only", options->nodes, "compare only the outputs, not each node");
  AddRemoteOptions(*sub, options->remote);
  sub->callback([&action, options, sub] {
    action = [options, sub] {
      if (!options->remote.given()) return Compare(*options);
      return RunRemotely(*sub, options->remote, options->job.common);
    };
  });
}

}  // namespace fettle::tools
