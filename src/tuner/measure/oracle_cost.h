// The cost of a group's references, so that the oracle's time is known before it is spent.
#pragma once

#include "ir/graph.h"

namespace fettle::tuner {

/// In steps of about one multiply-add of a scalar loop.
struct ReferenceCost {
  double element = 0;  // for each element of output 0
  double region = 0;   // for each range of elements that is asked for: the sums of a long row
};
/// Of `node`, whose values have concrete shapes.
ReferenceCost CostOfReference(const ir::Graph& group, const ir::Node& node);

/// About what predicting a group takes whose outputs are computed whole up to `whole` steps: enough
/// to tell milliseconds from seconds.
double GuessSteps(const ir::Graph& group, double whole);

}  // namespace fettle::tuner
