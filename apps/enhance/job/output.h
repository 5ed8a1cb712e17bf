// The output on its way into its container, for the job and for the trial before it.
#pragma once

#include <map>
#include <vector>

#include "av/in_band.h"
#include "av/sound_length.h"
#include "job/plan.h"

namespace fettle::enhance {

/// Writes the streams that a plan carries. Times of presentation stay what they are wherever the
/// container can hold them.
class OutputWriter {
 public:
  /// Writes the header: `format` is of the plan's container and has where to write, `video` tells
  /// how the video is coded, `delay` how late its packets are (ReorderDelay). `plan` and `input`
  /// must live as long. Throws Failure.
  OutputWriter(const Plan& plan, const Input& input, const AVCodecParameters& video, int delay,
               OutputPtr format);

  /// Whether packets of a stream of the input are wanted.
  bool Carries(int stream) const;
  /// What times of the stream are counted in; it must be carried.
  AVRational ClockOf(int stream) const;
  /// A packet of a stream of the input, with times in `base`, or of the video instead of its own.
  void Write(PacketPtr packet, int stream, AVRational base);
  /// The end of the file, which is closed.
  void Finish();
  /// The output's index of each input stream, -1 where it is not carried.
  const std::vector<int>& places() const { return places_; }

 private:
  void WriteNow(PacketPtr packet, int stream, AVRational base);
  void DecodeFromBegin(AVPacket& packet);
  void CountFrom(AVPacket& packet, int stream, AVRational base);

  const Input& input_;
  const Plan& plan_;
  const std::filesystem::path name_;
  OutputPtr format_;
  std::vector<int> places_;
  InBand in_band_;
  // Of streams of sound: the last packet that the input hides before what it shows.
  std::map<int, PacketPtr> hidden_;
  std::map<int, SoundLength> lengths_;
  bool hides_ = false;  // the container can hide packets, too
  // Where the container has no times before 0 and takes equal ones: the first time of decoding.
  bool from_begin_ = false;
  int64_t frames_ = 0;  // of the video
  int64_t begin_ = AV_NOPTS_VALUE;
};

/// Whether the container takes times before 0 as they are; others move all by them.
bool HoldsEarlyTimes(const AVOutputFormat& container);

/// An output for OutputWriter to begin with, of the plan's container. Throws Failure.
OutputPtr NewOutput(const Plan& plan, const std::filesystem::path& file);

}  // namespace fettle::enhance
