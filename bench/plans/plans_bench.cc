// For one model after another: the default plan, the best single layout, the capped sweep and the
// tuned plan, whole networks in interleaved runs; with --exhaustive, whether measuring only what
// the optimum uses finds the optimum of everything measured. A model that cannot run is reported
// and counted. With --json, a line for each model and one for the summary.
//
//     plans_bench [--threads N] [--seconds S] [--budget S] [--cache FOLDER] [--exhaustive] [--json]
//                 MODEL...
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "contest.h"

namespace fettle::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string Header(bool exhaustive) {
  std::string titles =
      "| threads | model | default ms | tuned ms | predicted ms | default / tuned | gate | best "
      "single layout / tuned | capped / tuned | measured over predicted | measured entries | "
      "tuning |";
  if (exhaustive) titles += " measured share | predicted / exhaustive |";
  std::string rule;
  for (char c : titles) rule += c == '|' ? "|---" : "";
  return titles + "\n" + rule.substr(0, rule.size() - 3);
}

std::string Line(int threads, const std::string& model, const ContestResult& result) {
  const Standing* single = result.BestSingle();
  std::string line = fmt::format(
      "| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {} | {} {:.2f} | {:.2f} | {:+.0f} % | {} of "
      "{} | {:.1f} s |",
      threads, model, result.default_ms, result.tuned_ms, result.predicted_ms,
      result.default_ms / result.tuned_ms, result.gate.accepted ? "tuned" : "default",
      single == nullptr ? "-" : single->name, single == nullptr ? 0 : single->ms / result.tuned_ms,
      result.capped_ms / result.tuned_ms, 100 * (result.tuned_ms / result.predicted_ms - 1),
      result.measured, result.entries, result.tune_seconds);
  if (result.all_entries > 0) {
    line += fmt::format(
        " {:.0f} % | {:.4f} |",
        100.0 * static_cast<double>(result.measured) / static_cast<double>(result.all_entries),
        result.predicted_ms / result.all_predicted_ms);
  }
  return line;
}

Json ToJson(int threads, const std::string& model, const ContestResult& result) {
  Json json{{"model", model},
            {"threads", threads},
            {"default_ms", result.default_ms},
            {"tuned_ms", result.tuned_ms},
            {"predicted_ms", result.predicted_ms},
            {"steps_ms", result.steps_ms},
            {"capped_ms", result.capped_ms}};
  for (const Standing& single : result.singles) json["single_ms"][single.name] = single.ms;
  json["gate"] = {{"accepted", result.gate.accepted},
                  {"ratio", result.gate.ratio},
                  {"low", result.gate.low},
                  {"high", result.gate.high},
                  {"pairs", result.gate.pairs}};
  json["entries"] = result.entries;
  json["measured"] = result.measured;
  json["tune_seconds"] = result.tune_seconds;
  if (result.all_entries > 0) {
    json["all_entries"] = result.all_entries;
    json["all_predicted_ms"] = result.all_predicted_ms;
  }
  for (const auto& [name, times] : result.kernels) {
    json["kernels"][name] = {{"steps", times.steps},
                             {"predicted_us", times.predicted_us},
                             {"network_us", times.network_us}};
  }
  return json;
}

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

/// Ratios of all models, and why some have none.
class Tally {
 public:
  void Add(const std::string& model, const ContestResult& result) {
    tuned_.push_back({result.default_ms / result.tuned_ms, model});
    chosen_.push_back({result.default_ms / result.chosen_ms(), model});
    if (const Standing* single = result.BestSingle(); single != nullptr)
      single_.push_back({single->ms / result.chosen_ms(), model + " " + single->name});
  }
  void AddFailure(const std::string& reason) { ++failures_[reason]; }

  Json ToJson() const {
    Json json{{"models", tuned_.size()}};
    json["default_over_tuned"] = Describe(tuned_);
    json["default_over_chosen"] = Describe(chosen_);
    json["best_single_over_chosen"] = Describe(single_);
    json["failures"] = Json::object();
    for (const auto& [reason, count] : failures_) json["failures"][reason] = count;
    return Json{{"summary", std::move(json)}};
  }

  std::string ToText() const {
    std::string text = Text("default / tuned", tuned_) +
                       Text("default / kept by the gate", chosen_) +
                       Text("best single layout / kept by the gate", single_);
    for (const auto& [reason, count] : failures_)
      text += fmt::format("{} not run: {}\n", count, reason);
    return text;
  }

 private:
  struct Ratio {
    double value;
    std::string model;
  };
  using Ratios = std::vector<Ratio>;

  static std::pair<double, Ratios> MeanAndWorst(Ratios ratios) {
    constexpr size_t kWorst = 5;
    std::vector<double> values;
    for (const Ratio& ratio : ratios) values.push_back(ratio.value);
    std::sort(ratios.begin(), ratios.end(),
              [](const Ratio& a, const Ratio& b) { return a.value < b.value; });
    ratios.resize(std::min(ratios.size(), kWorst));
    return {GeometricMean(values), std::move(ratios)};
  }

  static Json Describe(const Ratios& ratios) {
    const auto [mean, worst] = MeanAndWorst(ratios);
    Json json{{"geometric_mean", mean}, {"worst", Json::array()}};
    for (const Ratio& ratio : worst) json["worst"].push_back({{ratio.model, ratio.value}});
    return json;
  }

  static std::string Text(std::string_view title, const Ratios& ratios) {
    const auto [mean, worst] = MeanAndWorst(ratios);
    std::string text =
        fmt::format("{}: geometric mean of {} models {:.3f}; worst:", title, ratios.size(), mean);
    for (const Ratio& ratio : worst) text += fmt::format(" {} {:.3f}", ratio.model, ratio.value);
    return text + "\n";
  }

  Ratios tuned_, chosen_, single_;
  std::map<std::string, int> failures_;
};

void Print(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void RunModel(const ContestOptions& options, const std::string& path, Tally& tally) {
  const std::string model = BaseName(path);
  const auto run = [&]() -> Result<ContestResult> {
    ASSIGN_OR_RETURN(const Job job, MakeJob({.common = options.common, .model = path}));
    return RunContest(options, job);
  };
  const Result<ContestResult> result = run();
  const int threads = options.common.threads;
  if (!result.ok()) {
    const std::string reason(result.status().message());
    tally.AddFailure(model + ": " + reason);
    const Json line{{"model", model}, {"threads", threads}, {"error", reason}};
    if (options.common.json) Print(line.dump());
    return;
  }
  tally.Add(model, *result);
  Print(options.common.json ? ToJson(threads, model, *result).dump()
                            : Line(threads, model, *result));
}

int Main(int argc, char** argv) {
  ContestOptions options;
  std::vector<std::string> models;
  std::string level = "normal";
  CLI::App app("Plans beside each other");
  AddCommonOptions(app, options.common);
  app.add_option("MODEL", models)->required();
  app.add_option("--seconds", options.seconds, "for the interleaved runs of one model");
  app.add_option("--budget", options.budget, "seconds for tuning one segment of a model");
  app.add_option("--level", level);
  app.add_flag("--exhaustive", options.exhaustive);
  CLI11_PARSE(app, argc, argv);
  InstallLog(options.common.log);
  options.common.threads = ResolveThreads(options.common.threads);
  const Result<tuner::Level> parsed = tuner::LevelFromName(level);
  if (!parsed.ok()) {
    fmt::print(stderr, "{}\n", parsed.status().message());
    return 1;
  }
  options.level = *parsed;
  if (!options.common.json) Print(Header(options.exhaustive));
  Tally tally;
  for (const std::string& model : models) RunModel(options, model, tally);
  Print(options.common.json ? tally.ToJson().dump() : "\n" + tally.ToText());
  return 0;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
