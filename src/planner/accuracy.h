// Whether a whole plan still computes what the reference plan computes.
#pragma once

#include <span>
#include <string>

#include "tensor/tensor.h"

namespace fettle::planner {

struct AccuracyLimits {
  /// Signal to noise that each float output must keep, in dB.
  double min_sqnr_db = 40;
  /// Above 0: exactly this is required, whatever operators the network has.
  double asked_db = 0;
  /// Share of elements of integer outputs (classes, indices, quantised values) that may differ.
  double max_changed = 0.01;
};

/// The worst over all outputs.
struct PlanAccuracy {
  bool ok = true;
  double sqnr_db = 0;  // infinity where equal
  double max_abs = 0;
  double changed = 0;  // share of elements of the integer output that differs most
  int worst_output = -1;
  std::string reason;  // of the first output that fails
};

/// `got` and `want`: the outputs of both plans for equal inputs, of equal shapes and types (empty
/// tensors are skipped). NaN and infinities must agree.
PlanAccuracy CheckPlan(std::span<const Tensor> got, std::span<const Tensor> want,
                       const AccuracyLimits& limits = {});

/// A choice of a plan that loses accuracy, and what it saves against an exact one.
struct LossyChoice {
  double error = 0;
  double saved_us = 0;
};

/// The choice to ban first: the one with the most error per saved time; -1 where no choice has an
/// error.
int WorstTrade(std::span<const LossyChoice> choices);

}  // namespace fettle::planner
