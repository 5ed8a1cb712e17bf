// The encoders of moving pictures, and what may be set of them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "av/av.h"

namespace fettle::enhance {

/// Words, or whole numbers from `least` to `most` where there are none; neither: nothing to choose.
struct PresetChoices {
  std::string_view words;
  int least = 0, most = -1;
};

/// One row for each encoder, in the order of choice.
struct EncoderRow {
  std::string_view name;
  AVCodecID codec;
  std::string_view quality;  // the option of --crf; empty: it has none
  int usual_quality, least_quality, most_quality;
  std::string_view preset_option, usual_preset;
  PresetChoices presets;
  int least_side;  // of pictures
  /// Gives the same bytes for the same frames at a fixed number of threads by these options.
  std::map<std::string, std::string> fixed;
};

std::span<const EncoderRow> EncoderRows();
std::vector<std::string_view> EncoderNames();
/// Whether this FFmpeg has it.
bool IsPresent(const EncoderRow& row);

/// The encoder's options for --crf (-1: the usual) and --preset (empty: the usual). Throws Failure
/// (kExitUsage) with what there is where the encoder has no such thing.
std::map<std::string, std::string> OptionsOf(const EncoderRow& row, int crf,
                                             const std::string& preset);

}  // namespace fettle::enhance
