// Networks on strips of a plane, so that layers stay in the second-level cache and memory does not
// grow with the picture.
#pragma once

#include <fettle/fettle.hpp>
#include <string_view>
#include <vector>

#include "picture/samples.h"
#include "steps/networks.h"

namespace fettle::enhance {

/// The network's graph, loaded once for all threads.
const Model& LoadedModel(const Network& network);

/// Rows of the input that one call computes, the network's halo of them to each side for its
/// neighbours' sake; of whole blocks where the height is. All strips have one height, so that one
/// plan computes them, and as near as may be the same share of the rows: the last begins earlier.
int StripRows(int width, int height, const Network& network);

/// Computed from row `first` on; rows [begin, end) of it are kept.
struct Strip {
  int first, begin, end;
};
std::vector<Strip> StripsOf(int height, int rows, int halo);

/// Throws Failure where the result cannot be a picture of `from`: not finite, or of another
/// brightness.
void CheckMean(std::string_view step, double mean, const Plane& from);

}  // namespace fettle::enhance
