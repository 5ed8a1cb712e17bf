// Encoders of moving pictures: which one, with which options, and frames through it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "av/av.h"
#include "av/encoder_row.h"
#include "av/hardware.h"
#include "av/pixels.h"

namespace fettle::enhance {

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
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  /// A null frame ends it: the rest comes out.
  void Encode(FramePtr frame, const std::function<void(AVPacket&)>& take);
  /// For a muxer.
  ParametersPtr Parameters() const;

 private:
  struct OnItsWay {
    int64_t time, duration;
  };
  void OpenWith(const EncoderSetup& setup, const EncoderRow* row);

  CodecPtr codec_;
  std::optional<Uploads> uploads_;
  bool counts_ = false;  // the codec is told numbers of frames instead of times
  bool ended_ = false;
  int64_t frames_ = 0;
  std::map<int64_t, OnItsWay> on_their_way_;  // by what the codec is told
};

}  // namespace fettle::enhance
