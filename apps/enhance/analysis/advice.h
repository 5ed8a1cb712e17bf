// The steps that an input needs, each with the figure behind the advice: a row of the table in
// advice.cc for each step.
#pragma once

#include "analysis/survey.h"
#include "steps/step.h"

namespace fettle::enhance {

struct Advice {
  std::string_view step;
  bool taken = false;
  std::string reason;
};

/// In the order of the steps; without steps that are never advised.
std::vector<Advice> AdviceFor(const Survey& survey, int width, int height);

/// The advised steps at their usual strengths. Throws Failure (kExitUsage) where none is.
std::vector<ChainLink> ChainOf(const std::vector<Advice>& advice);

/// "level 38.2 of the quantiser, by its decoder".
std::string LevelText(const Measures& measures);

}  // namespace fettle::enhance
