#include "job/output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace fettle::enhance {
namespace {

/// Containers that hold times before 0 and are not told so by FFmpeg: a packet's time of decoding,
/// which Matroska does not have and MPEG-TS counts in a circle, is often earlier than the begin.
/// F4V has MP4's lists of what is shown, and AVI begins where each stream does.
constexpr auto kHoldNegative =
    std::to_array<std::string_view>({"matroska", "webm", "mpegts", "f4v", "avi"});
/// Those that hide packets by a list of what is shown.
constexpr auto kHide =
    std::to_array<std::string_view>({"mov", "mp4", "ipod", "3gp", "3g2", "psp", "f4v", "ismv"});

template <typename Names>
bool HasName(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The ticks in which FFmpeg's muxer of MOV counts a stream's times.
int64_t MovClock(const AVStream& stream) {
  if (stream.codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
    return std::max(1, stream.codecpar->sample_rate);
  int64_t clock = stream.time_base.den;
  while (stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO && clock < 10000) clock *= 2;
  return clock;
}

/// A stream that begins late begins so by the clock of the whole movie, which is made fine enough
/// for all of them.
void SetMovieClock(const Input& input, const std::vector<int>& places, AVFormatContext& output,
                   std::map<std::string, std::string>& options) {
  int64_t clock = 1000;
  bool late = input.cut().any();  // each stream begins with its own packet
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    const int64_t start = input.format().streams[i]->start_time;
    late = late || (start != 0 && start != AV_NOPTS_VALUE);
    const int64_t common = std::lcm(clock, MovClock(*output.streams[places[i]]));
    if (common <= INT32_MAX) clock = common;
  }
  if (late) options["movie_timescale"] = std::to_string(clock);
}

void MoveBy(AVPacket& packet, int64_t ticks) {
  if (packet.pts != AV_NOPTS_VALUE) packet.pts += ticks;
  if (packet.dts != AV_NOPTS_VALUE) packet.dts += ticks;
}

/// Players know MPEG-TS by what repeats in it: a file of a few frames gets packets of nothing
/// (ISO/IEC 13818-1, 2.4.3.2) until it is long enough, which FFmpeg takes 2,048 bytes for.
void FillUp(AVIOContext& file) {
  constexpr int64_t kPacket = 188, kLeast = 16 * kPacket;
  while (avio_tell(&file) < kLeast) {
    avio_wb32(&file, 0x471FFF10);
    for (int64_t i = 4; i < kPacket; ++i) avio_w8(&file, 0xFF);
  }
}

}  // namespace

bool HoldsEarlyTimes(const AVOutputFormat& container) {
  return (container.flags & AVFMT_TS_NEGATIVE) != 0 || HasName(kHoldNegative, container.name);
}

OutputPtr NewOutput(const Plan& plan, const std::filesystem::path& file) {
  AVFormatContext* made = nullptr;
  CheckAv(avformat_alloc_output_context2(&made, &ContainerOf(plan.output), nullptr, file.c_str()),
          file.string());
  return OutputPtr(made);
}

OutputWriter::OutputWriter(const Plan& plan, const Input& input, const AVCodecParameters& video,
                           int delay, OutputPtr format)
    : input_(input),
      plan_(plan),
      name_(plan.output),
      format_(std::move(format)),
      written_{.places = CopyStructure(input, plan.streams, video, plan.light, *format_)},
      in_band_(*format_->oformat, video, plan.encoder.time_base),
      hides_(HasName(kHide, format_->oformat->name)),
      from_begin_((format_->oformat->flags & (AVFMT_TS_NEGATIVE | AVFMT_NOTIMESTAMPS |
                                              AVFMT_TS_NONSTRICT)) == AVFMT_TS_NONSTRICT) {
  // No random numbers and no dates: equal inputs give equal files.
  format_->flags |= AVFMT_FLAG_BITEXACT;
  // How views are packed and projected, which MP4 tells so alone.
  format_->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  if (HasName(kHoldNegative, format_->oformat->name))
    format_->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  AVStream& stream = *format_->streams[written_.places[static_cast<size_t>(input.video_index())]];
  stream.codecpar->video_delay = delay;
  if (MakesBetween(plan.chain)) {
    stream.time_base = plan.encoder.time_base;
    stream.avg_frame_rate = stream.r_frame_rate = plan.encoder.frame_rate;
  }
  if (plan.frame_clock.num > 0) stream.time_base = plan.frame_clock;
  for (unsigned i = 0; i < input.format().nb_streams; ++i)
    if (const AVStream& from = *input.format().streams[i];
        from.codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
      lengths_.try_emplace(static_cast<int>(i), from);
  std::map<std::string, std::string> values = plan.muxer_options;
  if (hides_) SetMovieClock(input, written_.places, *format_, values);
  Options options(values);
  CheckWrite(avformat_write_header(format_.get(), options.get()), name_);
  for (const int place : written_.places)
    written_.clocks.push_back(place < 0 ? AVRational{} : format_->streams[place]->time_base);
}

bool OutputWriter::Carries(int stream) const {
  return stream >= 0 && static_cast<size_t>(stream) < written_.places.size() &&
         written_.places[static_cast<size_t>(stream)] >= 0;
}

AVRational OutputWriter::ClockOf(int stream) const {
  return written_.clocks[static_cast<size_t>(stream)];
}

void OutputWriter::Write(PacketPtr packet, int stream, AVRational base) {
  written_.packets.Add(*packet, stream, base);
  if (stream == input_.video_index()) packet = in_band_.Apply(std::move(packet));
  if (const auto length = lengths_.find(stream); length != lengths_.end())
    packet->duration = length->second.Of(*packet);
  if (!hides_ && packet->flags & AV_PKT_FLAG_DISCARD) {
    // Sound is decoded from the packet before its first on.
    if (format_->streams[written_.places[static_cast<size_t>(stream)]]->codecpar->codec_type ==
        AVMEDIA_TYPE_AUDIO)
      hidden_[stream] = std::move(packet);
    return;
  }
  if (PacketPtr before = std::exchange(hidden_[stream], nullptr))
    WriteNow(std::move(before), stream, base);
  WriteNow(std::move(packet), stream, base);
}

void OutputWriter::WriteNow(PacketPtr packet, int stream, AVRational base) {
  CountFrom(*packet, stream, base);
  if (const auto shift = plan_.counter_shifts.find(stream); shift != plan_.counter_shifts.end())
    MoveBy(*packet, std::llrint(shift->second / av_q2d(base)));
  av_packet_rescale_ts(packet.get(), base, ClockOf(stream));
  if (plan_.one_tick_each && stream == input_.video_index()) packet->pts = packet->dts = frames_++;
  if (from_begin_ && stream == input_.video_index()) DecodeFromBegin(*packet);
  packet->stream_index = written_.places[static_cast<size_t>(stream)];
  packet->pos = -1;
  CheckWrite(av_interleaved_write_frame(format_.get(), packet.get()), name_);
}

/// From the plan's begin on.
void OutputWriter::CountFrom(AVPacket& packet, int stream, AVRational base) {
  if (plan_.begin == 0) return;
  MoveBy(packet, -(stream == input_.video_index()
                       ? plan_.begin
                       : av_rescale_q(plan_.begin, plan_.encoder.time_base, base)));
}

/// Frames that are reordered would be decoded before 0, and FFmpeg would move all streams by that:
/// the first ones are decoded at one time instead, and all are shown when they were.
void OutputWriter::DecodeFromBegin(AVPacket& packet) {
  if (begin_ == AV_NOPTS_VALUE) begin_ = std::min<int64_t>(0, packet.pts);
  packet.dts = std::max(packet.dts, begin_);
}

void OutputWriter::Finish() {
  CheckWrite(av_write_trailer(format_.get()), name_);
  if (std::string_view(format_->oformat->name) == "mpegts") FillUp(*format_->pb);
  if (!(format_->flags & AVFMT_FLAG_CUSTOM_IO)) CheckWrite(avio_closep(&format_->pb), name_);
}

namespace {

int64_t TimeOf(const AVPacket& packet, AVRational base) {
  const int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  return time == AV_NOPTS_VALUE ? INT64_MIN : av_rescale_q(time, base, {1, AV_TIME_BASE});
}

}  // namespace

void WriteInterleaved(const Input& input, const Plan& plan, const NextPacket& next_frame,
                      const NextPacket& next_other, OutputWriter& output, std::stop_token stop) {
  const AVRational video_base = plan.encoder.time_base;
  PacketPtr frame = next_frame(), other = next_other();
  while ((frame != nullptr || other != nullptr) && !stop.stop_requested()) {
    const AVRational base =
        other == nullptr ? AVRational{} : input.format().streams[other->stream_index]->time_base;
    if (frame == nullptr ||
        (other != nullptr && TimeOf(*other, base) <= TimeOf(*frame, video_base))) {
      const int stream = other->stream_index;
      output.Write(std::move(other), stream, base);
      other = next_other();
    } else {
      output.Write(std::move(frame), input.video_index(), video_base);
      frame = next_frame();
    }
  }
}

}  // namespace fettle::enhance
