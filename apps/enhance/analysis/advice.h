// Which steps an input needs, each with the figure that says so: a row of the table in advice.cc
// for each step.
#pragma once

#include "analysis/survey.h"
#include "steps/step.h"

namespace fettle::enhance {

struct Advice {
  std::string_view step;
  bool taken = false;
  std::string reason;
};

/// In the order in which steps belong; those that are never advised are not among them.
std::vector<Advice> AdviceFor(const Survey& survey, int width, int height);

/// The advised steps at their usual strengths. Throws Failure (kExitUsage) where none is.
std::vector<ChainLink> ChainOf(const std::vector<Advice>& advice);

/// "level 38.2 of the quantiser, by its decoder".
std::string LevelText(const Measures& measures);

}  // namespace fettle::enhance
