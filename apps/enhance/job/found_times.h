// What a container made of packets and of their times, by an output that was read again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/output.h"

namespace fettle::enhance {

/// What was read of an output.
struct ReadAgain {
  PacketLog packets;           // by the output's streams
  std::vector<double> frames;  // times of those of the video in seconds, rising; NaN: it has none
};

/// Reads all of a small output, which is at its begin, and decodes its `video`: frames have the
/// times that a player finds, so that it does not matter which packets tell them.
ReadAgain ReadAndDecode(AVFormatContext& back, int video);

/// What changes beyond the container's ticks.
struct TimesFound {
  std::vector<std::string> of_frames, of_streams;  // a sentence for each change
  bool frames_have_times = true;
  double shift = 0;              // of all frames, in seconds
  std::map<int, double> beside;  // of streams that are moved as a whole, in seconds to the frames
};

/// Compares packet by packet. `found`: the stream of `back` of each stream of the input, as
/// FoundAgain gives it.
TimesFound FindTimes(const Input& input, const Plan& plan, const Written& written,
                     const std::vector<int>& found, const ReadAgain& back);

/// The same of streams beside the video alone, where frames are known to be `shift` later; what
/// `beside` of TimesFound has goes there.
std::vector<std::string> FindChangesOfStreams(const Input& input, const Plan& plan,
                                              const Written& written, const std::vector<int>& found,
                                              const ReadAgain& back, double shift,
                                              std::map<int, double>* beside = nullptr);

/// A sentence where the packets of the video tell other times than the plan says; "" where they do
/// not, or where not all have one.
std::string FindMovedFrames(const Input& input, const Plan& plan, const Written& written,
                            const ReadAgain& back);

}  // namespace fettle::enhance
