// How fast each strategy comes near the optimum of recorded spaces, as a table for
// docs/laboratory/search.md: search_bench [--runs N] [--strategy NAME]... FILE...
//
// A cell is the median over seeded runs of the best time in the space over the best time found, in
// per cent, cold and, after the slash, with the best configurations of the other files of the same
// kernel measured first. Files are of the same kernel where their names start with the same word
// ("gemm_...") and their parameters are the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "jobs/replay.h"
#include "tuner/search/search.h"

namespace fettle::tools {
namespace {

constexpr int kBudgets[] = {8, 16, 32, 64, 128};
constexpr size_t kBudgetCount = std::size(kBudgets);

struct Space {
  std::string name, kernel;
  Recording recording;
  Replay replay;
};

/// The share of the optimum that one run has reached at each budget.
std::vector<double> Run(const Space& space, const std::string& strategy, uint64_t seed,
                        const std::vector<tuner::Point>& known) {
  auto search =
      tuner::Search::Create(space.replay.space(), {.strategy = strategy,
                                                   .seed = seed,
                                                   .max_evaluations = kBudgets[kBudgetCount - 1],
                                                   .seeds = known})
          .value();
  std::vector<double> shares;
  for (int budget : kBudgets) {
    while (static_cast<int>(search->history().size()) < budget) {
      const std::optional<tuner::Point> point = search->Ask();
      if (!point) break;
      search->Tell(space.replay.Measure(*point));
    }
    shares.push_back(search->best() ? space.replay.best_ms() / *search->best()->ms : 0);
  }
  return shares;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

std::vector<double> MedianRun(const Space& space, const std::string& strategy, int runs,
                              const std::vector<tuner::Point>& known) {
  std::vector<std::vector<double>> by_budget(kBudgetCount);
  for (int run = 0; run < runs; ++run) {
    const std::vector<double> shares = Run(space, strategy, static_cast<uint64_t>(run) + 1, known);
    for (size_t i = 0; i < kBudgetCount; ++i) by_budget[i].push_back(shares[i]);
  }
  std::vector<double> medians;
  for (const std::vector<double>& values : by_budget) medians.push_back(100 * Median(values));
  return medians;
}

/// The best configurations of the other recordings of the kernel, as points of `space`.
std::vector<tuner::Point> KnownElsewhere(const Space& space, const std::vector<Space>& all) {
  std::vector<tuner::Point> known;
  for (const Space& other : all) {
    if (&other == &space || other.kernel != space.kernel ||
        other.recording.names != space.recording.names)
      continue;
    std::vector<tuner::Value> values;
    for (int i = 0; i < other.replay.space().dimensions(); ++i)
      values.push_back(other.replay.space().ValueOf(other.replay.best(), i));
    const auto point = space.replay.space().Find(values);
    if (point.ok()) known.push_back(*point);
  }
  return known;
}

Result<Space> Load(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  ASSIGN_OR_RETURN(Recording recording, ReadRecording(path));
  ASSIGN_OR_RETURN(Replay replay, Replay::Create(recording));
  return Space{name.substr(0, name.find('.')), name.substr(0, name.find('_')), std::move(recording),
               std::move(replay)};
}

struct Options {
  int runs = 200;
  std::vector<std::string> strategies, files;
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      options.runs = std::atoi(argv[++i]);
    } else if (argument == "--strategy" && i + 1 < argc) {
      options.strategies.emplace_back(argv[++i]);
    } else {
      options.files.push_back(argument);
    }
  }
  if (options.strategies.empty())
    for (const tuner::StrategyRow& row : tuner::Strategies())
      options.strategies.emplace_back(row.name);
  for (const std::string& strategy : options.strategies)
    if (!tuner::FindStrategy(strategy)) return false;
  return options.runs > 0 && !options.files.empty();
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) {
    fmt::print(stderr, "usage: search_bench [--runs N] [--strategy NAME]... FILE...\n");
    return 2;
  }
  std::vector<Space> spaces;
  for (const std::string& file : options.files) {
    auto space = Load(file);
    if (!space.ok()) {
      fmt::print(stderr, "search_bench: {}\n", space.status().message());
      return 1;
    }
    spaces.push_back(std::move(*space));
  }
  fmt::print("| space | strategy | 8 | 16 | 32 | 64 | 128 | ms per run |\n");
  fmt::print("|---|---|---:|---:|---:|---:|---:|---:|\n");
  for (const Space& space : spaces) {
    const std::vector<tuner::Point> known = KnownElsewhere(space, spaces);
    for (const std::string& strategy : options.strategies) {
      const int64_t start = NowNs();
      const std::vector<double> cold = MedianRun(space, strategy, options.runs, {});
      const double ms = static_cast<double>(NowNs() - start) * 1e-6 / options.runs;
      const std::vector<double> seeded = MedianRun(space, strategy, options.runs, known);
      std::string row = fmt::format("| {} | {} |", space.name, strategy);
      for (size_t i = 0; i < kBudgetCount; ++i)
        row += fmt::format(" {:.1f} / {:.1f} |", cold[i], seeded[i]);
      fmt::print("{} {:.1f} |\n", row, ms);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
