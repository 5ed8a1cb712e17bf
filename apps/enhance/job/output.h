// The output on its way into its container, for the job and for the trial before it.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <vector>

#include "av/in_band.h"
#include "av/packet_log.h"
#include "av/sound_length.h"
#include "job/plan.h"

namespace fettle::enhance {

/// What went into an output.
struct Written {
  PacketLog packets;               // by streams of the input; those of the video are the new ones
  std::vector<int> places;         // the output's index of each input stream, -1: not carried
  std::vector<AVRational> clocks;  // what times are counted in, by input streams that are carried
};

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
  /// A packet of a stream of the input, with times in `base`, or of the video instead of its own.
  void Write(PacketPtr packet, int stream, AVRational base);
  /// The end of the file, which is closed.
  void Finish();
  const Written& written() const { return written_; }

 private:
  AVRational ClockOf(int stream) const;
  void WriteNow(PacketPtr packet, int stream, AVRational base);
  void DecodeFromBegin(AVPacket& packet);
  void CountFrom(AVPacket& packet, int stream, AVRational base);

  const Input& input_;
  const Plan& plan_;
  const std::filesystem::path name_;
  OutputPtr format_;
  Written written_;
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

/// The next packet in the order of decoding; null at the end.
using NextPacket = std::function<PacketPtr()>;

/// Writes packets of the video, with times in the plan's base, and of the other streams of the
/// input, in the order of their times of decoding, until both end or until a stop.
void WriteInterleaved(const Input& input, const Plan& plan, const NextPacket& next_frame,
                      const NextPacket& next_other, OutputWriter& output,
                      std::stop_token stop = {});

/// Whether the container takes times before 0 as they are; others move all by them.
bool HoldsEarlyTimes(const AVOutputFormat& container);

/// An output for OutputWriter to begin with, of the plan's container. Throws Failure.
OutputPtr NewOutput(const Plan& plan, const std::filesystem::path& file);

}  // namespace fettle::enhance
