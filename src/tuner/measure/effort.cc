#include "tuner/measure/effort.h"

#include "tuner/measure/oracle_cost.h"

namespace fettle::tuner {
namespace {

/// Of a reference's step; of an element in making inputs, in verifying it; launches
/// for a candidate, and what else each one costs.
constexpr double kStepSeconds = 4e-9, kFillSeconds = 8e-9, kTouchSeconds = 4e-9;
constexpr double kLaunches = 10, kOverheadSeconds = 1.5e-3;

double ElementsOf(const kernels::Problem& problem, const std::vector<ir::ValueId>& values) {
  double sum = 0;
  for (ir::ValueId id : values) sum += static_cast<double>(problem.shape(id).elements());
  return sum;
}

Effort GuessLaunches(double elements, double us) {
  return {0, kOverheadSeconds + kTouchSeconds * elements + kLaunches * us * 1e-6};
}

}  // namespace

Effort GuessKnown(const kernels::Problem& problem, double us) {
  return GuessLaunches(
      ElementsOf(problem, problem.group->inputs) + ElementsOf(problem, problem.group->outputs), us);
}

Effort GuessUnknown(const kernels::Problem& problem, double us, double whole, int threads) {
  Effort effort = GuessKnown(problem, us);
  effort.expecting = kStepSeconds * GuessSteps(*problem.group, whole) / threads +
                     kFillSeconds * ElementsOf(problem, problem.group->inputs);
  return effort;
}

Effort GuessCopy(const Shape& shape, const State& from, const State& to) {
  const double us = static_cast<double>(StateBytes(shape, from) + StateBytes(shape, to)) * 1e-4;
  return GuessLaunches(2 * static_cast<double>(shape.elements()), us);
}

}  // namespace fettle::tuner
