// Metadata of the input that the output lacks.
#pragma once

#include <string>
#include <vector>

#include "av/encoder.h"
#include "av/input.h"

namespace fettle::enhance {

struct TagLoss {
  std::vector<std::string> sentences;  // one for each kind
  size_t tags = 0;                     // that are lost
};

/// `places` has the output's index of each input stream, -1 for those that are not carried.
TagLoss TagLossOf(const Input& input, const std::vector<int>& places, const EncoderSetup& encoder,
                  const AVFormatContext& output);

}  // namespace fettle::enhance
