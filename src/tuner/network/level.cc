#include "tuner/network/level.h"

#include <algorithm>

namespace fettle::tuner {
namespace {

/// Share of the default parameters' time below which no neighbour of them is expected.
constexpr double kLeastOfDefault = 0.75;
/// The same where more than the neighbours are looked at.
constexpr double kWideLeastOfDefault = 0.5;

/// Of the least that problems of a kernel took beyond their bounds, the share that others take too.
constexpr double kLeastEfficiency = 0.75;

}  // namespace

Result<Level> LevelFromName(std::string_view name) {
  constexpr std::string_view kNames[] = {"none", "fast", "normal", "wide", "full"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    return InvalidArgument("level: expected none|fast|normal|wide|full, got '{}'", name);
  return static_cast<Level>(found - std::begin(kNames));
}

planner::Breadth BreadthOf(Level level) {
  if (level <= Level::kFast) return planner::Breadth::kDefaults;
  return level == Level::kNormal ? planner::Breadth::kNeighbours : planner::Breadth::kAll;
}

planner::Assumptions AssumptionsOf(Level level) {
  if (level == Level::kFull) return {};
  return {.least_of_default = level == Level::kWide ? kWideLeastOfDefault : kLeastOfDefault,
          .fusion_gains = true,
          .changes_repeat = level < Level::kWide};
}

double EfficiencyOf(Level level) { return level < Level::kWide ? kLeastEfficiency : 0; }

}  // namespace fettle::tuner
