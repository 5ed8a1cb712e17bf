// A small output before the whole one: what it does not tell of what the input tells is lost.
#pragma once

#include <string>
#include <vector>

#include "job/plan.h"

namespace fettle::enhance {

/// One frame and the first packets of the other streams, written as the output will be and read
/// again: a sentence for tags, for the colours' description and for what else the output's streams
/// do not have. Empty where no such output can be written, too. Chooses the plan's options of the
/// muxer, so that the fewest tags are lost.
std::vector<std::string> TrialLosses(const Input& input, Plan& plan);

/// A sentence for each kind of data beside the first frames that the encoder does not write.
std::vector<std::string> FrameDataLosses(const Plan& plan);

}  // namespace fettle::enhance
