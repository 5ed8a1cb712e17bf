// Sides of one comparison on one network after another: sessions with options of their own, in
// turns of some milliseconds in one process, in random order within each round. What slows the
// machine down for a while slows all sides of a round, so the ratios of rounds are what counts. A
// row for each model: the medians, and for pairs of sides (by default each beside the first) the
// ratio of their times: the median over the rounds with its 99 % interval, and in how many steps
// the plans differ.
//
//     versus_bench [--seconds S] [--turn MS] [--budget S] [--ratio I/J ...]
//                  --side OPTIONS ... MODEL...
//
// OPTIONS are those of `fettle bench` that say where and how to run (--threads, --device,
// --precision ...), with --tuned to tune that side for --budget seconds from an empty database and
// --all-lanes to let no run take fewer threads than the session has, and --groups RULE for the
// work-groups of a rule on OpenCL devices (docs/tuning.md):
//
//     versus_bench --side '--threads 2' --side '--threads 2 --tuned' MODEL...     is tuned slower?
//     versus_bench --side '--tuned --all-lanes' --side '--tuned --all-lanes' MODEL...   tuned twice
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "side.h"

namespace fettle::tools {
namespace {

struct Options {
  std::vector<std::string> sides;
  std::vector<std::string> models, ratios;
  double seconds = 2, turn_ms = 20, budget = 7;
};

/// Which side over which, counted from 1.
struct Pair {
  size_t of = 2, over = 1;
  std::string ToText() const { return fmt::format("{}/{}", of, over); }
};

struct Verdict {
  double ratio = 1, low = 1, high = 1;
  size_t differing = 0;  // steps
};

Verdict Compare(const Side& of, const Side& over) {
  std::vector<double> logs;
  for (size_t i = 0; i < of.turns().size(); ++i)
    logs.push_back(std::log(of.turns()[i] / over.turns()[i]));
  const tuner::Summary summary = tuner::Summarise(logs, tuner::kSure99);
  std::vector<std::string> different;
  std::ranges::set_difference(of.steps(), over.steps(), std::back_inserter(different));
  return {std::exp(summary.median), std::exp(summary.low), std::exp(summary.high),
          different.size()};
}

Result<std::vector<Side>> RunRounds(const Options& options, const std::vector<SideOptions>& asked,
                                    const std::string& model) {
  constexpr size_t kLeastRounds = 7;
  std::vector<Side> sides(asked.size());
  for (size_t i = 0; i < asked.size(); ++i)
    RETURN_IF_ERROR(sides[i].Open(asked[i], model, options.budget));
  std::vector<size_t> order(sides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(1);
  const int64_t start = NowNs();
  for (size_t round = 0; round < kLeastRounds || MsSince(start) < options.seconds * 1e3; ++round) {
    std::ranges::shuffle(order, random);
    for (const size_t i : order) RETURN_IF_ERROR(sides[i].Turn(options.turn_ms));
  }
  return sides;
}

/// Ratios of all models.
class Tally {
 public:
  void Add(const std::string& model, const Verdict& verdict) { all_.push_back({verdict, model}); }
  /// Where plans are the same, what is left of a ratio is the machine's.
  std::string ToText() const {
    constexpr double kEqual = 0.02;
    std::vector<double> logs, distances;
    std::string off;
    int same = 0, within = 0, not_slower = 0;
    for (const auto& [verdict, model] : all_) {
      const bool is_same = verdict.differing == 0;
      logs.push_back(std::log(verdict.ratio));
      distances.push_back(std::fabs(verdict.ratio - 1));
      const bool is_within = is_same || distances.back() <= kEqual;
      same += is_same ? 1 : 0;
      within += is_within ? 1 : 0;
      not_slower += is_within || verdict.ratio < 1 ? 1 : 0;
      if (!is_within) off += fmt::format(" {} {:.3f}", model, verdict.ratio);
    }
    if (logs.empty()) return "no model ran";
    const double mean = std::reduce(logs.begin(), logs.end()) / static_cast<double>(logs.size());
    return fmt::format(
        "geometric mean {:.3f} of {}, median distance {:.1f} %; the same plan in {}, that or "
        "within "
        "{:.0f} % in {}, that or no slower in {}; beyond:{}",
        std::exp(mean), logs.size(), 100 * tuner::Median(distances), same, 100 * kEqual, within,
        not_slower, off.empty() ? " none" : off);
  }

 private:
  std::vector<std::pair<Verdict, std::string>> all_;
};

/// Measured over predicted of a side that is tuned.
class Predictions {
 public:
  void Add(const std::string& model, double ratio) {
    if (ratio > 0) all_.push_back({std::fabs(ratio - 1), ratio, model});
  }
  bool any() const { return !all_.empty(); }
  std::string ToText() const {
    std::vector<double> ratios, distances;
    for (const auto& [distance, ratio, model] : all_) {
      distances.push_back(distance);
      ratios.push_back(ratio);
    }
    const auto& [distance, ratio, model] = *std::ranges::max_element(all_);
    return fmt::format(
        "measured over predicted {:.3f}, median distance {:.1f} %, within 10 % in {} of {}, worst "
        "{:.2f} ({})",
        tuner::Median(ratios), 100 * tuner::Median(distances),
        std::ranges::count_if(distances, [](double d) { return d <= 0.1; }), all_.size(), ratio,
        model);
  }

 private:
  std::vector<std::tuple<double, double, std::string>> all_;
};

void Print(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

class Table {
 public:
  Table(const Options& options, std::vector<SideOptions> asked, std::vector<Pair> pairs)
      : options_(options),
        asked_(std::move(asked)),
        pairs_(std::move(pairs)),
        tallies_(pairs_.size()),
        predictions_(asked_.size()) {}

  void Run() {
    std::string titles = "| model |", rule = "|---|";
    for (size_t i = 0; i < asked_.size(); ++i) {
      Print(fmt::format("{}: {}", i + 1, options_.sides[i]));
      titles += fmt::format(" {} ms |", i + 1);
      rule += "---:|";
    }
    for (const Pair& pair : pairs_) {
      titles += fmt::format(" {} | steps that differ |", pair.ToText());
      rule += "---|---:|";
    }
    Print("\n" + titles + "\n" + rule);
    for (const std::string& model : options_.models) RunModel(model);
    for (size_t i = 0; i < pairs_.size(); ++i)
      Print(fmt::format("{}: {}", pairs_[i].ToText(), tallies_[i].ToText()));
    for (size_t i = 0; i < asked_.size(); ++i)
      if (predictions_[i].any()) Print(fmt::format("{}: {}", i + 1, predictions_[i].ToText()));
  }

 private:
  void RunModel(const std::string& model) {
    const std::string name = model.substr(model.rfind('/') + 1);
    const Result<std::vector<Side>> sides = RunRounds(options_, asked_, model);
    if (!sides.ok()) {
      fmt::print(stderr, "{}: {}\n", name, sides.status().message());
      return;
    }
    std::string line = fmt::format("| {} |", name);
    for (size_t i = 0; i < sides->size(); ++i) {
      line += fmt::format(" {:.3f} |", tuner::Median((*sides)[i].turns()));
      predictions_[i].Add(name, (*sides)[i].measured_over_predicted());
    }
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const Verdict verdict = Compare((*sides)[pairs_[i].of - 1], (*sides)[pairs_[i].over - 1]);
      tallies_[i].Add(name, verdict);
      line += fmt::format(" {:.3f} ({:.3f} to {:.3f}) | {} |", verdict.ratio, verdict.low,
                          verdict.high, verdict.differing);
    }
    Print(line);
  }

  const Options& options_;
  std::vector<SideOptions> asked_;
  std::vector<Pair> pairs_;
  std::vector<Tally> tallies_;
  std::vector<Predictions> predictions_;
};

Result<std::vector<Pair>> ParsePairs(const Options& options) {
  std::vector<Pair> pairs;
  for (size_t i = 2; options.ratios.empty() && i <= options.sides.size(); ++i) pairs.push_back({i});
  for (const std::string& text : options.ratios) {
    Pair pair;
    const bool read = std::sscanf(text.c_str(), "%zu/%zu", &pair.of, &pair.over) == 2;
    if (!read || std::min(pair.of, pair.over) < 1 ||
        std::max(pair.of, pair.over) > options.sides.size())
      return InvalidArgument("--ratio {}: expected two numbers of sides, as 2/1", text);
    pairs.push_back(pair);
  }
  return pairs;
}

Status Run(const Options& options) {
  std::vector<SideOptions> asked;
  for (const std::string& text : options.sides) {
    ASSIGN_OR_RETURN(asked.emplace_back(), ParseSide(text));
  }
  ASSIGN_OR_RETURN(std::vector<Pair> pairs, ParsePairs(options));
  Table(options, std::move(asked), std::move(pairs)).Run();
  return OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Sides of a comparison, in turns of one process");
  app.add_option("--side", options.sides, "options of one side, repeatable")
      ->required()
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--ratio", options.ratios, "I/J: side I over side J, repeatable")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "of turns for each model");
  app.add_option("--turn", options.turn_ms, "milliseconds of a side's turn");
  app.add_option("--budget", options.budget, "seconds of each tuning");
  app.add_option("MODEL", options.models)->required();
  CLI11_PARSE(app, argc, argv);
  InstallLog("error");
  const Status status = Run(options);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
