// Moves of whole channels that leave the pixels of four which they are in together.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// Where a channel of an output comes from.
struct ChannelSource {
  int input = -1;  // of the group; -1: the channel is zero
  int channel = 0;
};

/// The inputs of the group that an output's channels come from, each once.
std::vector<int> InputsOf(const std::vector<ChannelSource>& channels);

/// The channels of each output of a group of one node whose floats, of rank 3 to 5, move by whole
/// channels: Split, Concat and Slice along them, for example. kUnsupported where something else
/// moves, or one launch would read no tensor or more than 16, and where opencl.move.copy moves
/// whole pixels in two launches or fewer for each output.
Result<std::vector<std::vector<ChannelSource>>> ReadTornChannels(const ir::Graph& group);

}  // namespace fettle::kernels
