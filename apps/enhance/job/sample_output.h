// A small output in memory, and the same read again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/output.h"

namespace fettle::enhance {

/// Packets to write: of a few frames of nothing in particular at the times of the input's first
/// ones, and those of the input's other streams: all of them, up to 32 MiB or 512 MiB of the input.
struct SamplePackets {
  ParametersPtr parameters;
  int delay = 0;
  std::vector<PacketPtr> video;   // in the encoder's time base
  std::vector<PacketPtr> others;  // with the input's streams
};
SamplePackets SampleFor(const Plan& plan);

/// Writes them as the plan's output will be and calls `look` with what was written, its streams
/// found, and with how it was written. Throws Failure.
void ReadBack(const Input& input, const Plan& plan, const SamplePackets& sample,
              const std::function<void(AVFormatContext&, const Written&)>& look);

/// The stream of `back` that each stream of the input came to, -1 where it is not there: the
/// containers keep their order among those of a kind.
std::vector<int> FoundAgain(const Input& input, const Written& written,
                            const AVFormatContext& back);

}  // namespace fettle::enhance
