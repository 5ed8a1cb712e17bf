// How far tuning looks, and what it takes for granted meanwhile.
#pragma once

#include <string_view>

#include "planner/catalogue.h"
#include "planner/extract.h"

namespace fettle::tuner {

/// How far to look. kNone measures nothing; kFast the default parameters of each kernel; kNormal
/// neighbours of them too; kWide and kFull all parameters, kFull without stopping slow candidates.
enum class Level { kNone, kFast, kNormal, kWide, kFull };
Result<Level> LevelFromName(std::string_view name);
/// How many parameters of a kernel are choices at a level.
planner::Breadth BreadthOf(Level level);
/// What is taken for granted at a level.
planner::Assumptions AssumptionsOf(Level level);
/// For LearnedCosts::AssumeEfficiency.
double EfficiencyOf(Level level);

}  // namespace fettle::tuner
