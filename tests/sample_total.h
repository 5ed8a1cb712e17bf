// What samples of steps add up to.
#pragma once

#include <vector>

#include "tuner/cost/calibration.h"

namespace fettle::runtime {

/// The time of all steps: of each, the middle of its two halves.
inline double Total(const std::vector<tuner::StepSample>& samples) {
  double us = 0;
  for (const tuner::StepSample& sample : samples)
    us += (sample.halves_us[0] + sample.halves_us[1]) / 2;
  return us;
}

}  // namespace fettle::runtime
