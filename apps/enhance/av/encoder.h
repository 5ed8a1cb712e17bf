// Encoders of moving pictures: which one, with which options, and frames through it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "av/av.h"
#include "av/pixels.h"

namespace fettle::enhance {

/// One row for each encoder that is chosen by itself, best first.
struct EncoderRow {
  std::string_view name;
  AVCodecID codec;
  std::string_view quality;  // the option of --crf; empty: it has none
  int usual_quality;
  std::string_view preset_option, usual_preset;
  std::string_view presets;  // all of them, where the encoder itself would print what is wrong
  /// Gives the same bytes for the same frames at a fixed number of threads by these options.
  std::map<std::string, std::string> fixed;
};

/// The row of `name`; of "auto" the first that this FFmpeg has and `container` takes; where
/// `format` has alpha, of those that keep it the one that loses least of the pixels. Throws Failure
/// (kExitUnsupported).
const EncoderRow& ChooseEncoder(const std::string& name, const AVOutputFormat& container,
                                AVPixelFormat format);
std::vector<std::string_view> EncoderNames();

/// Whether `container` carries video of any row.
bool TakesVideo(const AVOutputFormat& container);

/// Throws Failure (kExitUsage) where the row lists its presets and not this one.
void CheckPreset(const EncoderRow& row, const std::string& preset);

/// All that an encoder is opened with.
struct EncoderSetup {
  std::string name;
  std::map<std::string, std::string> options;
  int threads = 1;
  int width = 0, height = 0;
  AVPixelFormat format = AV_PIX_FMT_NONE;
  AVRational time_base = {1, 25}, frame_rate = {0, 1}, aspect = {0, 1};
  Colour colour;
};

/// The format that the encoder takes with the least loss, `format` itself where it can; one without
/// alpha unless `alpha` is to be kept and the encoder can.
AVPixelFormat EncoderFormat(const std::string& encoder, AVPixelFormat format, bool alpha);

/// Frames in, packets with times and durations in the setup's time base out. One thread's.
class Encoder {
 public:
  /// Throws Failure.
  explicit Encoder(const EncoderSetup& setup);
  /// A null frame ends it: the rest comes out.
  void Encode(FramePtr frame, const std::function<void(AVPacket&)>& take);
  /// For a muxer; `delay` is how many frames stand between decoding and showing at most.
  ParametersPtr Parameters() const;
  int delay() const { return codec_->has_b_frames; }
  AVRational time_base() const { return codec_->time_base; }

 private:
  CodecPtr codec_;
  std::map<int64_t, int64_t> durations_;  // of frames on their way, by time
};

}  // namespace fettle::enhance
