#include "tuner/network/level.h"

#include <fmt/format.h>

#include <algorithm>

namespace fettle::tuner {
namespace {

constexpr std::string_view kLevelNames[] = {"none", "fast", "work-size", "normal", "wide", "full"};

/// By level. A share of the best below which no set of a slot is expected; evaluations: what old
/// lists of neighbours (5) and of all sets (64) took, and more.
constexpr struct {
  int64_t evaluations, patience;
  double least_of_best;
} kSearches[] = {{0, 0, 0.75},  {1, 0, 0.75},  {24, 10, 0.75},
                 {16, 8, 0.75}, {64, 24, 0.5}, {512, 0, 0}};

/// Of the least that problems of a kernel took beyond their bounds, the share that others take too.
constexpr double kLeastEfficiency = 0.75;

}  // namespace

std::vector<std::string> LevelNames() { return {std::begin(kLevelNames), std::end(kLevelNames)}; }

Result<Level> LevelFromName(std::string_view name) {
  const auto* found = std::find(std::begin(kLevelNames), std::end(kLevelNames), name);
  if (found == std::end(kLevelNames))
    return InvalidArgument("level: expected {}, got '{}'", fmt::join(kLevelNames, "|"), name);
  return static_cast<Level>(found - std::begin(kLevelNames));
}

SlotOptions SlotOptionsOf(Level level, bool relaxed_math) {
  const auto& search = kSearches[static_cast<size_t>(level)];
  return {.evaluations = search.evaluations,
          .patience = search.patience,
          .least_of_best = search.least_of_best,
          .habits = level < Level::kWide,
          .scope = {.compiles = level != Level::kWorkSize, .relaxed_math = relaxed_math}};
}

planner::Assumptions AssumptionsOf(Level level) {
  if (level == Level::kFull) return {};
  return {.fusion_gains = true, .changes_repeat = level < Level::kWide};
}

double EfficiencyOf(Level level) { return level < Level::kWide ? kLeastEfficiency : 0; }

}  // namespace fettle::tuner
