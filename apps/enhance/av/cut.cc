#include "av/cut.h"

#include <algorithm>
#include <charconv>
#include <cmath>

extern "C" {
#include <libavutil/common.h>
}

namespace fettle::enhance {
namespace {

/// Of packets before the start that wait for a key frame nearer to it; beyond, they are decoded.
constexpr int64_t kMostHeldBytes = int64_t{64} << 20;
/// Other streams may lie so far behind the video in a file.
constexpr int64_t kBehind = 10 * int64_t{AV_TIME_BASE};
constexpr double kMostSeconds = 1e9;

int64_t TimeOf(const AVPacket& packet) {
  return packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
}

std::optional<double> ReadNumber(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (text.empty() || error != std::errc() || at != end || text.front() == '-') return std::nullopt;
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<int64_t> ReadTime(const std::string& text) {
  double seconds = 0;
  size_t begin = 0;
  for (int part = 0;; ++part) {
    const size_t colon = text.find(':', begin);
    const bool is_last = colon == std::string::npos;
    const std::string digits = text.substr(begin, is_last ? colon : colon - begin);
    const std::optional<double> number = ReadNumber(digits);
    // Hours and minutes are whole; what follows them is less than 60.
    if (!number || part > 2 || (part > 0 && *number >= 60) ||
        (!is_last && *number != std::floor(*number)))
      return std::nullopt;
    seconds = 60 * seconds + *number;
    if (seconds > kMostSeconds) return std::nullopt;
    if (is_last) return std::llround(seconds * AV_TIME_BASE);
    begin = colon + 1;
  }
}

int64_t BeginOf(const AVFormatContext& format) {
  return format.start_time == AV_NOPTS_VALUE ? 0 : std::max<int64_t>(0, format.start_time);
}

Cutter::Cutter(const AVFormatContext& format, int video, Cut cut)
    : format_(format), video_(video), cut_(cut) {
  begin_ = av_sat_add64(BeginOf(format), cut.start);
  if (cut.duration > 0) end_ = av_sat_add64(begin_, cut.duration);
  // What decoders begin with has times before the file's own begin.
  if (cut.start == 0) begin_ = INT64_MIN;
}

bool Cutter::Holds(int64_t time) const {
  const AVRational base = BaseOf(video_);
  const int64_t shown = av_sat_add64(time, av_rescale_q(cut_.start, AV_TIME_BASE_Q, base));
  return (begin_ == INT64_MIN || av_compare_ts(shown, base, begin_, AV_TIME_BASE_Q) >= 0) &&
         (end_ == INT64_MAX || av_compare_ts(shown, base, end_, AV_TIME_BASE_Q) < 0);
}

void Cutter::Hold(PacketPtr packet) {
  const int64_t shift = av_rescale_q(cut_.start, AV_TIME_BASE_Q, BaseOf(packet->stream_index));
  if (packet->pts != AV_NOPTS_VALUE) packet->pts = av_sat_sub64(packet->pts, shift);
  if (packet->dts != AV_NOPTS_VALUE) packet->dts = av_sat_sub64(packet->dts, shift);
  held_bytes_ += packet->size;
  held_.push_back(std::move(packet));
}

void Cutter::DropVideo() {
  std::erase_if(held_, [&](const PacketPtr& packet) {
    if (packet->stream_index != video_) return false;
    held_bytes_ -= packet->size;
    return true;
  });
}

void Cutter::TakeVideo(PacketPtr packet) {
  const AVRational base = BaseOf(video_);
  const int64_t time = TimeOf(*packet);
  if (time == AV_NOPTS_VALUE) {
    begun_ = true;
    return Hold(std::move(packet));
  }
  const int64_t decoded = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
  video_ended_ = video_ended_ ||
                 (end_ != INT64_MAX && av_compare_ts(decoded, base, end_, AV_TIME_BASE_Q) >= 0);
  if (video_ended_) return;
  const int against_begin =
      begin_ == INT64_MIN ? 1 : av_compare_ts(time, base, begin_, AV_TIME_BASE_Q);
  if (!begun_ && (packet->flags & AV_PKT_FLAG_KEY) != 0 && against_begin <= 0) DropVideo();
  Hold(std::move(packet));
  begun_ = begun_ || against_begin >= 0 || held_bytes_ > kMostHeldBytes;
}

/// Cuts what is shown for a time.
bool Cutter::KeepsOther(AVPacket& packet) const {
  const AVStream& stream = *format_.streams[packet.stream_index];
  if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) return true;
  const int64_t time = TimeOf(packet);
  if (time == AV_NOPTS_VALUE) return begun_ && !video_ended_;
  const AVRational base = stream.time_base;
  if (end_ != INT64_MAX && av_compare_ts(time, base, end_, AV_TIME_BASE_Q) >= 0) return false;
  const bool is_text = stream.codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE && packet.duration > 0;
  if (is_text && end_ != INT64_MAX)
    packet.duration =
        std::min(packet.duration, av_sat_sub64(av_rescale_q(end_, AV_TIME_BASE_Q, base), time));
  if (begin_ == INT64_MIN || av_compare_ts(time, base, begin_, AV_TIME_BASE_Q) >= 0) return true;
  const int64_t begin = av_rescale_q(begin_, AV_TIME_BASE_Q, base);
  if (!is_text || av_sat_add64(time, packet.duration) <= begin) return false;
  packet.duration = av_sat_sub64(packet.duration, av_sat_sub64(begin, time));
  packet.pts = packet.dts = begin;
  return true;
}

void Cutter::Take(PacketPtr packet) {
  if (packet == nullptr) {
    begun_ = ended_ = true;
    return;
  }
  const AVRational base = BaseOf(packet->stream_index);
  const int64_t time = TimeOf(*packet);
  const bool is_behind = video_ended_ && time != AV_NOPTS_VALUE &&
                         av_rescale_q(time, base, AV_TIME_BASE_Q) >= av_sat_add64(end_, kBehind);
  ended_ = ended_ || is_behind;
  if (packet->stream_index == video_)
    TakeVideo(std::move(packet));
  else if (KeepsOther(*packet))
    Hold(std::move(packet));
}

PacketPtr Cutter::Give() {
  if (!begun_ || held_.empty()) return nullptr;
  PacketPtr packet = std::move(held_.front());
  held_.pop_front();
  held_bytes_ -= packet->size;
  return packet;
}

void Cutter::Forget() {
  held_.clear();
  held_bytes_ = 0;
  begun_ = video_ended_ = ended_ = false;
}

void CutChapters(const Cut& cut, const AVFormatContext& from, AVFormatContext& to) {
  if (!cut.any()) return;
  unsigned kept = 0;
  for (unsigned i = 0; i < to.nb_chapters; ++i) {
    AVChapter* const chapter = to.chapters[i];
    const auto in_chapter = [&](int64_t time) {
      return av_rescale_q(time, AV_TIME_BASE_Q, chapter->time_base);
    };
    const int64_t shift = in_chapter(cut.start), begin = in_chapter(BeginOf(from));
    chapter->start = std::max(av_sat_sub64(chapter->start, shift), begin);
    chapter->end = av_sat_sub64(chapter->end, shift);
    if (cut.duration > 0)
      chapter->end = std::min(chapter->end, av_sat_add64(begin, in_chapter(cut.duration)));
    if (chapter->end > chapter->start) {
      to.chapters[kept++] = chapter;
      continue;
    }
    av_dict_free(&chapter->metadata);
    av_free(chapter);
  }
  to.nb_chapters = kept;
}

}  // namespace fettle::enhance
