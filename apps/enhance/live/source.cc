#include "live/source.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace fettle::enhance {
namespace {

/// An address or a camera of which nothing is heard for so long has ended.
constexpr std::chrono::seconds kPatience(10);
/// Times that differ by more from those before are another clock's.
constexpr int64_t kJumpOn = 10 * int64_t{AV_TIME_BASE}, kJumpBack = AV_TIME_BASE;
constexpr size_t kMostEvents = 20;
constexpr int kBuffer = 1 << 16;

AVRational RateOf(AVFormatContext& format, AVStream& stream) {
  const AVRational rate = av_guess_frame_rate(&format, &stream, nullptr);
  const double a_second = rate.den > 0 ? av_q2d(rate) : 0;
  return a_second >= 0.01 && a_second <= 1000 ? rate : AVRational{25, 1};
}

/// Of calls that look for a stream: what has no better reason is of another kind, or damaged.
void CheckFound(int result, const std::string& name, const std::string& kind) {
  if (result == AVERROR(EINVAL) || result == AVERROR_INVALIDDATA || result == AVERROR_EOF)
    throw Failure(kExitInvalidInput,
                  fmt::format("{}: no stream of video{} begins there{}", name,
                              kind.empty() ? "" : " of the kind " + kind.substr(0, kind.find(':')),
                              kind.empty() ? "; --input-format names its kind" : ""));
  CheckAv(result, name + ": no stream of video", kExitInvalidInput);
}

}  // namespace

int LiveSource::IsInterrupted(void* self) {
  const auto& source = *static_cast<LiveSource*>(self);
  return source.stop_.stop_requested() || LiveClock::now() - source.heard_ > kPatience ? 1 : 0;
}

int LiveSource::ReadStandardInput(void* self, uint8_t* to, int size) {
  const auto& source = *static_cast<LiveSource*>(self);
  constexpr int kLookMs = 100;
  while (!source.stop_.stop_requested()) {
    pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kLookMs) <= 0) continue;
    const ssize_t got = read(STDIN_FILENO, to, static_cast<size_t>(size));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return got > 0 ? static_cast<int>(got) : got == 0 ? AVERROR_EOF : AVERROR(errno);
  }
  return AVERROR_EXIT;
}

void LiveSource::OpenStandardInput() {
  if (isatty(STDIN_FILENO))
    throw Failure(kExitUsage,
                  "-: standard input is a terminal; pipe a stream into it, as: "
                  "ffmpeg -i INPUT -f nut - | fettle enhance - -o OUTPUT");
  auto* buffer = static_cast<uint8_t*>(av_malloc(kBuffer));
  if (buffer == nullptr) throw std::bad_alloc();
  io_.reset(avio_alloc_context(buffer, kBuffer, 0, this, ReadStandardInput, nullptr, nullptr));
  if (io_ == nullptr) throw std::bad_alloc();
}

LiveSource::LiveSource(const std::string& name, const std::string& kind, std::stop_token stop)
    : name_(Spoken(name, true)), stop_(stop) {
  Reader reader = ReaderOf(name, kind);
  AVFormatContext* format = avformat_alloc_context();
  if (format == nullptr) throw std::bad_alloc();
  format->interrupt_callback = {IsInterrupted, this};
  format->max_analyze_duration = AV_TIME_BASE;
  if (IsStandard(name)) OpenStandardInput();
  if (io_ != nullptr) format->pb = io_.get();
  const std::string address = IsStandard(name) ? "" : IsStream(name) ? name : "file:" + name;
  Options options(reader.options);
  // A failed call frees `format`.
  CheckFound(avformat_open_input(&format, address.c_str(),
                                 const_cast<AVInputFormat*>(reader.format), options.get()),
             name_, kind);
  format_.reset(format);
  CheckFound(avformat_find_stream_info(format, nullptr), name_, kind);
  video_ = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (video_ < 0) throw Failure(kExitInvalidInput, name_ + ": has no video");
  const AVCodecParameters& codec = *video().codecpar;
  if (codec.width <= 0 || codec.height <= 0 || codec.format == AV_PIX_FMT_NONE)
    throw Failure(kExitInvalidInput, name_ + ": none of its frames can be decoded");
  streams_ = format->nb_streams;
  codec_ = codec.codec_id;
  rate_ = RateOf(*format, video());
  step_ = av_rescale_q(1, av_inv_q(rate_), AV_TIME_BASE_Q);
}

PacketPtr LiveSource::ReadRaw() {
  PacketPtr packet = NewPacket();
  heard_ = LiveClock::now();
  const int result = av_read_frame(format_.get(), packet.get());
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result >= 0) return packet;
  if (result == AVERROR_EOF || stop_.stop_requested()) return nullptr;
  broken_ = result == AVERROR_EXIT ? fmt::format("nothing arrived for {} s", kPatience.count())
                                   : fmt::format("it broke off: {}", AvErrorText(result));
  return nullptr;
}

/// Another codec, in the stream's own place or in that of a new stream.
void LiveSource::FollowCodec(LivePacket& item) {
  const int index = item.packet->stream_index;
  const AVStream& stream = *format_->streams[index];
  const bool comes_new =
      static_cast<unsigned>(index) >= streams_ && stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
  if (comes_new && index != video_) video_ = index;
  item.video = index == video_;
  if (!item.video || (stream.codecpar->codec_id == codec_.load() && !comes_new)) return;
  if (comes_new) streams_ = static_cast<unsigned>(index) + 1;
  if (stream.codecpar->codec_id != codec_.load() && events_.size() < kMostEvents)
    events_.push_back(fmt::format("its video changes from {} to {}",
                                  avcodec_get_name(codec_.load()),
                                  avcodec_get_name(stream.codecpar->codec_id)));
  codec_ = stream.codecpar->codec_id;
  item.changed.reset(avcodec_parameters_alloc(),
                     [](AVCodecParameters* parameters) { avcodec_parameters_free(&parameters); });
  if (item.changed == nullptr) throw std::bad_alloc();
  CheckAv(avcodec_parameters_copy(item.changed.get(), stream.codecpar), name_);
}

/// Where times jump, what follows goes on behind what was.
void LiveSource::KeepClock(AVPacket& packet, AVRational base, bool video) {
  const int64_t own = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (video && own != AV_NOPTS_VALUE) {
    const int64_t time = av_rescale_q(own, base, AV_TIME_BASE_Q);
    const int64_t moved = last_ == AV_NOPTS_VALUE ? 0 : time - last_;
    if (moved > kJumpOn || moved < -kJumpBack) {
      offset_ -= moved - step_;
      if (events_.size() < kMostEvents)
        events_.push_back(
            fmt::format("its clock jumps by {:.3f} s; what follows continues without a gap",
                        static_cast<double>(moved) / AV_TIME_BASE));
    } else if (moved > 0) {
      step_ = moved;
    }
    last_ = time;
  }
  const int64_t offset = av_rescale_q(offset_, AV_TIME_BASE_Q, base);
  if (packet.pts != AV_NOPTS_VALUE) packet.pts += offset;
  if (packet.dts != AV_NOPTS_VALUE) packet.dts += offset;
}

/// A packet that comes later behind its time than others did has waited before it was read, since
/// we were late to read it.
LiveClock::time_point LiveSource::Arrival(const AVPacket& packet, AVRational base) {
  constexpr double kForget = 0.01;  // clocks drift, and senders begin with a burst
  const LiveClock::time_point now = LiveClock::now();
  const int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (time == AV_NOPTS_VALUE) return now;
  const double lag = std::chrono::duration<double>(now.time_since_epoch()).count() -
                     static_cast<double>(time) * av_q2d(base);
  if (!lags_ || lag < least_lag_) least_lag_ = lag;
  lags_ = true;
  const std::chrono::duration<double> waited(lag - least_lag_);
  least_lag_ += kForget * (lag - least_lag_);
  return now - std::chrono::duration_cast<LiveClock::duration>(waited);
}

LivePacket LiveSource::Read() {
  while (true) {
    LivePacket item;
    item.packet = ReadRaw();
    if (item.packet == nullptr) return item;
    FollowCodec(item);
    // Streams that come later have no place in the output any more.
    if (!item.video && static_cast<unsigned>(item.packet->stream_index) >= streams_) continue;
    item.base = format_->streams[item.packet->stream_index]->time_base;
    KeepClock(*item.packet, item.base, item.video);
    item.arrived = item.video ? Arrival(*item.packet, item.base) : LiveClock::now();
    return item;
  }
}

}  // namespace fettle::enhance
