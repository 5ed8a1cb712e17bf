// fettle advise: what to change in a network so that it is faster on this device.
#include "advice/advise.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/file.h"
#include "commands/command.h"
#include "jobs/interrupt.h"
#include "options/checks.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

struct AdviseOptions {
  JobOptions job;
  AdviceOptions advice;
  std::string output;  // of --apply; empty: nothing is written
  bool all = false;
  bool no_trims = false;
};

/// A few of the nodes, by name.
std::string NodesText(const Json& nodes) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, nodes.size()); ++i)
    text += (i > 0 ? ", " : "") + Shorten(nodes[i].get<std::string>(), 40);
  if (nodes.size() > kMost) text += fmt::format(" and {} more", nodes.size() - kMost);
  return text;
}

void PrintChanges(const Advice& advice, const Json& listed, bool gains) {
  size_t at = 0;
  for (const MeasuredChange& measured : advice.changes) {
    if (measured.gains != gains) continue;
    const Json& one = listed[at++];
    fmt::print("{}\n", Fit(fmt::format("{}. {}: {}\n   {}{}", at, one["change"].get<std::string>(),
                                       GainText(measured), NodesText(one["nodes"]),
                                       measured.change.same_function ? "; computes the same"
                                                                     : "; has to be trained again"),
                           3));
  }
}

/// Where one place is trimmed, its channels too.
std::string PlacesText(const Json& places) {
  Json writers = Json::array();
  double carried = 0;
  for (const Json& place : places) {
    writers.insert(writers.end(), place["writers"].begin(), place["writers"].end());
    carried += place["carried"].get<double>() / static_cast<double>(places.size());
  }
  std::string text = NodesText(writers);
  if (places.size() == 1 && places[0]["drop"].size() <= 16)
    text +=
        fmt::format("; without {}", fmt::join(places[0]["drop"].get<std::vector<int64_t>>(), ", "));
  return text + fmt::format("; what goes carries {:.0f} % by its weights", 100 * carried);
}

/// Fewer channels: another function, so they are told apart from advice. Numbered as in the JSON.
void PrintTrims(const Advice& advice, const Json& trims, bool all) {
  const auto shown = [&](const MeasuredChange& trim) {
    return all || (trim.gains && trim.confirmed);
  };
  if (std::ranges::none_of(advice.trims, shown)) return;
  fmt::print("\n{}\n",
             Fit("fewer channels, which need fine-tuning; the least by their weights go, as "
                 "there is no data here:"));
  size_t hidden = 0;
  for (size_t i = 0; i < advice.trims.size(); ++i) {
    const MeasuredChange& trim = advice.trims[i];
    if (!shown(trim)) {
      hidden += trim.gains;
      continue;
    }
    fmt::print("{}\n",
               Fit(fmt::format("{}. {}: {}\n   {}", i + 1, trims[i]["change"].get<std::string>(),
                               GainText(trim), PlacesText(trims[i]["places"])),
                   3));
  }
  if (hidden > 0) fmt::print("   and {} more, measured once (--all shows them)\n", hidden);
}

Json AppliedJson(const AppliedAdvice& applied, const std::string& path) {
  return {{"path", applied.changes > 0 ? Json(path) : Json(nullptr)},
          {"changes", applied.changes},
          {"same_function", applied.whole.change.same_function},
          {"operations", applied.whole.operations()},
          {"predicted_gain", applied.predicted_gain},
          {"gain", applied.whole.gain()},
          {"low", NumberJson(1 - applied.whole.high)},
          {"high", NumberJson(1 - applied.whole.low)},
          {"ms_before", applied.whole.ms_before},
          {"ms_after", applied.whole.ms_after}};
}

void PrintApplied(const AppliedAdvice& applied, const std::string& path) {
  if (applied.changes == 0) {
    fmt::print("nothing to apply: {} is not written\n", path);
    return;
  }
  fmt::print("{}\n", Fit(fmt::format("wrote {} with {}: predicted {:.1f} % faster, measured {}",
                                     path, Count(static_cast<int64_t>(applied.changes), "change"),
                                     100 * applied.predicted_gain, GainText(applied.whole))));
}

/// Applies and writes, where that is asked for.
Result<AppliedAdvice> Apply(const AdviseOptions& options, const Job& job, const ModelFile& file,
                            const Advice& advice) {
  ASSIGN_OR_RETURN(AppliedAdvice applied,
                   ApplyAdvice(options.advice, job, file, advice, options.job.common.seed));
  if (applied.changes > 0)
    RETURN_IF_ERROR(AsWriteFailure(WriteTextFile(options.output, applied.bytes)));
  return applied;
}

void PrintAdvice(const AdviseOptions& options, const Job& job, const Advice& advice,
                 const Json& document) {
  PrintChanges(advice, document["advice"], true);
  if (advice.changes.empty())
    fmt::print("nothing to advise: {}\n",
               advice.found == 0 ? "no rule finds a change worth measuring in this network"
                                 : "no change was measured");
  else if (document["advice"].empty())
    fmt::print("{}\n",
               Fit(fmt::format("nothing to advise: of {} that were measured, none makes this "
                               "network faster beyond the spread; it is good as it is",
                               Count(std::ssize(advice.changes), "change"))));
  if (options.all && !document["tried"].empty()) {
    fmt::print("\nmeasured, without a gain:\n");
    PrintChanges(advice, document["tried"], false);
  }
  PrintTrims(advice, document["trims"], options.all);
  fmt::print("\n");
  PrintParts({fmt::format("{} of {} measured", advice.changes.size(),
                          Count(static_cast<int64_t>(advice.found), "change")),
              fmt::format("{} of {}", advice.trims.size(),
                          Count(static_cast<int64_t>(advice.trims_found), "trim")),
              "each by the whole network on its default plan, in turns",
              fmt::format("{:.1f} s", document["seconds"].get<double>())});
  PrintParts({DeviceLine(job.threads, job.session.accelerator()),
              PrecisionLine(options.job.common, job.session.accelerator(), advice.steps)});
}

int GiveAdvice(const AdviseOptions& options) {
  InstallLog(options.job.common.log);
  StartInterruptThread();
  const int64_t start = NowNs();
  if (!options.output.empty())
    if (const Status status = CheckModelOutput(options.job.model, "--apply", options.output);
        !status.ok())
      return Fail(status);
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  const auto file = ReadModelFile(options.job.model);
  if (!file.ok()) return Fail(file.status());
  AdviceOptions wanted = options.advice;
  wanted.trims = !options.no_trims;
  const auto advice = Advise(wanted, *job, *file, options.job.common.seed);
  if (!advice.ok()) return Fail(advice.status());
  PrintWarnings(advice->warnings);
  job->warnings.insert(job->warnings.end(), advice->warnings.begin(), advice->warnings.end());
  const auto network = quantise::Network::Read(file->bytes(), file->model);
  if (!network.ok()) return Fail(network.status());
  Json document = {{"model", options.job.model},
                   {"ms", advice->ms},
                   {"found", advice->found},
                   {"advice", AdviceJson(*advice, *network, true)},
                   {"tried", AdviceJson(*advice, *network, false)},
                   {"trims", TrimsJson(*advice, *network)},
                   {"seconds", static_cast<double>(NowNs() - start) * 1e-9}};
  if (!options.job.common.json) PrintAdvice(options, *job, *advice, document);
  if (!options.output.empty()) {
    const auto applied = Apply(options, *job, *file, *advice);
    if (!applied.ok()) return Fail(applied.status());
    document["applied"] = AppliedJson(*applied, options.output);
    if (!options.job.common.json) PrintApplied(*applied, options.output);
  }
  if (!options.job.common.json) return kExitOk;
  document["device"] = DeviceJson(job->threads, job->session.accelerator());
  document["precision"] =
      PrecisionJson(options.job.common, job->session.accelerator(), advice->steps);
  document["warnings"] = job->warnings;
  PrintJson(document);
  return kExitOk;
}

}  // namespace

void RegisterAdvise(CLI::App& app, Action& action) {
  auto options = std::make_shared<AdviseOptions>();
  CLI::App* sub =
      app.add_subcommand("advise", "find changes that make a network faster on this device");
  AddJobOptions(*sub, options->job);
  sub->add_option("--apply", options->output,
                  "write the network with all changes that make it faster");
  sub->add_option("--seconds", options->advice.seconds,
                  "the longest comparison of one change, in seconds (default 1)")
      ->check(Between(0.0, 3600.0));
  sub->add_option("--budget", options->advice.budget,
                  "the time of all comparisons, in seconds; 0 measures nothing (default 60)")
      ->check(Between(0.0, 86400.0));
  sub->add_flag("--all", options->all, "also list the changes that make it no faster");
  sub->add_flag("--no-trims", options->no_trims, "measure no networks of fewer channels");
  sub->callback([&action, options] { action = [options] { return GiveAdvice(*options); }; });
}

}  // namespace fettle::tools
