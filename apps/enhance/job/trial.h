// A small output before the whole one: what it refuses is refused, and what it does not tell of
// what the input tells is lost.
#pragma once

#include <string>
#include <vector>

#include "job/plan.h"
#include "job/sample_output.h"

namespace fettle::enhance {

/// A few frames and the packets of the other streams, written as the output will be and read
/// again. Streams that the container does not hold beside the others, or that are not found again,
/// are left out of the plan's `streams`, with the reason. Throws Failure (kExitUnsupported) where
/// the video is not found again.
SamplePackets TryOutput(const Input& input, Plan& plan);

/// What such an output tells less than the input: a sentence for tags, for the colours'
/// description, for what else its streams do not have, and for times that are others. Streams that
/// the container makes again by itself are noted in the plan's `streams`, what becomes of the
/// others beside the video in its `moved_streams`. Chooses the plan's options of the muxer, so that
/// the fewest tags are lost.
std::vector<std::string> TrialLosses(const Input& input, const SamplePackets& sample, Plan& plan);

/// A sentence for each kind of data beside the first frames that the encoder does not write.
std::vector<std::string> FrameDataLosses(const Plan& plan);

}  // namespace fettle::enhance
