#include "tuner/search/strategy.h"

namespace fettle::tuner {

// Each in a file of its own.
std::unique_ptr<Strategy> MakeLocalSearch(const StrategyInput& input);
std::unique_ptr<Strategy> MakePortfolio(const StrategyInput& input);
std::unique_ptr<Strategy> MakeRandomSearch(const StrategyInput& input);
std::unique_ptr<Strategy> MakeExhaustive(const StrategyInput& input);

namespace {

constexpr StrategyRow kStrategies[] = {
    {"local", "local search led by a model of what was measured", MakeLocalSearch},
    {"portfolio", "descents from known good or widely spread configurations, in turns",
     MakePortfolio},
    {"random", "uniform draws", MakeRandomSearch},
    {"full", "all valid configurations in order", MakeExhaustive},
};

}  // namespace

std::span<const StrategyRow> Strategies() { return kStrategies; }

std::string StrategyNames() {
  std::string names;
  for (const StrategyRow& row : kStrategies)
    names.append(names.empty() ? "" : "|").append(row.name);
  return names;
}

const StrategyRow* FindStrategy(std::string_view name) {
  for (const StrategyRow& row : kStrategies)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace fettle::tuner
