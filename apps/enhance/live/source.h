// A stream as it comes: from standard input, an address, a camera or a file.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "av/av.h"
#include "live/stream_name.h"

namespace fettle::enhance {

using LiveClock = std::chrono::steady_clock;

struct LivePacket {
  PacketPtr packet;    // times on one clock that never jumps, in `base`
  bool video = false;  // of the stream of pictures; else `packet->stream_index` says
  AVRational base = {1, 1};
  LiveClock::time_point arrived;  // where the stream waited for us, when it would have come
  std::shared_ptr<AVCodecParameters> changed;  // the codec from this packet on, where it is another
};

/// Belongs to one thread at a time; its sentences are read when that has ended.
class LiveSource {
 public:
  /// Throws Failure: kExitInvalidInput where there is no stream with video.
  LiveSource(const std::string& name, const std::string& kind, std::stop_token stop);
  LiveSource(const LiveSource&) = delete;
  LiveSource& operator=(const LiveSource&) = delete;

  AVFormatContext& format() const { return *format_; }
  AVStream& video() const { return *format_->streams[video_]; }
  AVRational rate() const { return rate_; }
  /// Of the video, now. From any thread.
  AVCodecID codec() const { return codec_; }

  /// The next packet of the video or of a stream that was there at the start; no packet at the end.
  LivePacket Read();
  /// Why the stream ended where it did not end by itself: "nothing arrived for 10 s".
  const std::string& broken() const { return broken_; }
  /// What happened to its times and codecs.
  const std::vector<std::string>& events() const { return events_; }

 private:
  void OpenStandardInput();
  /// Null at the end, whatever it came by.
  PacketPtr ReadRaw();
  static int ReadStandardInput(void* self, uint8_t* to, int size);
  static int IsInterrupted(void* self);
  void FollowCodec(LivePacket& item);
  void KeepClock(AVPacket& packet, AVRational base, bool video);
  LiveClock::time_point Arrival(const AVPacket& packet, AVRational base);

  const std::string name_;
  std::stop_token stop_;
  struct FreeIo {
    void operator()(AVIOContext* io) const {
      av_freep(&io->buffer);
      avio_context_free(&io);
    }
  };
  std::unique_ptr<AVIOContext, FreeIo> io_;  // of standard input; outlives format_
  InputPtr format_;
  int video_ = -1;
  unsigned streams_ = 0;  // at the start
  AVRational rate_ = {0, 1};
  std::atomic<AVCodecID> codec_ = AV_CODEC_ID_NONE;
  LiveClock::time_point heard_ = LiveClock::now();  // something last
  std::string broken_;
  std::vector<std::string> events_;
  // In AV_TIME_BASE: what is added to times, and the last video's own.
  int64_t offset_ = 0, last_ = AV_NOPTS_VALUE, step_ = AV_TIME_BASE / 25;
  double least_lag_ =
      0;  // seconds that packets come behind their times, of those that waited least
  bool lags_ = false;
};

}  // namespace fettle::enhance
