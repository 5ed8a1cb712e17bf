// How far tuning looks at a level, and what it assumes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/extract.h"
#include "tuner/network/slot.h"

namespace fettle::tuner {

/// How far to look. kNone measures nothing; kFast the default parameters of each kernel; kWorkSize
/// those that compile nothing new; kNormal some sets of a slot; kWide many; kFull all that the
/// search asks for, slow ones to the end.
enum class Level { kNone, kFast, kWorkSize, kNormal, kWide, kFull };
/// "none", "fast", "work-size", ...
std::vector<std::string> LevelNames();
Result<Level> LevelFromName(std::string_view name);
/// How a slot is searched at a level. `relaxed_math`: SlotScope.
SlotOptions SlotOptionsOf(Level level, bool relaxed_math);
/// What is taken for granted at a level.
planner::Assumptions AssumptionsOf(Level level);
/// For LearnedCosts::AssumeEfficiency.
double EfficiencyOf(Level level);

}  // namespace fettle::tuner
