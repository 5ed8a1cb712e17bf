#include "job/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "av/container.h"

namespace fettle::enhance {
namespace {

/// Frames of AVI that are left out make it unwieldy.
constexpr int kMostTicksOfFrame = 4;

/// The nearest tick to a time; both in seconds by their bases.
int64_t Rounded(int64_t time, AVRational base, AVRational clock) {
  return av_rescale_q(time, base, clock);
}

double SecondsBetween(int64_t a, AVRational base_a, int64_t b, AVRational base_b) {
  // Exactly, as both are small multiples of fractions: 0 is to be 0.
  const auto left = static_cast<__int128>(a) * base_a.num * base_b.den;
  const auto right = static_cast<__int128>(b) * base_b.num * base_a.den;
  return static_cast<double>(left - right) /
         (static_cast<double>(base_a.den) * static_cast<double>(base_b.den));
}

/// Of times of decoding alone a frame gets that of the packet which completes it.
void Reorder(const Input& input, std::vector<int64_t>& times) {
  const int delay = input.video().codecpar->video_delay;
  if (times.size() < 2 || delay <= 0) return;
  const int64_t step = times[times.size() - 1] - times[times.size() - 2];
  for (int i = 0; i < delay; ++i) times.push_back(times.back() + step);
  times.erase(times.begin(), times.begin() + delay);
}

}  // namespace

std::vector<int64_t> TimesOfResult(const Plan& plan) {
  Input input(plan.input);
  std::vector<int64_t> times;
  bool shown = true;  // all times of showing are told
  while (const PacketPtr packet = input.Read()) {
    if (packet->stream_index == input.video_index() && packet->dts != AV_NOPTS_VALUE)
      shown = shown && packet->pts != AV_NOPTS_VALUE;
    const int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    if (packet->stream_index == input.video_index() && time != AV_NOPTS_VALUE &&
        !(packet->flags & AV_PKT_FLAG_DISCARD))
      times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  const auto first = std::unique(times.begin(), times.end()), last = times.end();
  times.erase(first, last);
  if (!shown) Reorder(input, times);
  if (!MakesBetween(plan.chain)) return times;
  std::vector<int64_t> doubled;
  for (size_t i = 0; i < times.size(); ++i) {
    if (i > 0) doubled.push_back(times[i - 1] + times[i]);
    doubled.push_back(2 * times[i]);
  }
  return doubled;
}

AVRational FrameClock(const Plan& plan, const std::vector<int64_t>& times) {
  const AVRational usual = av_inv_q(plan.encoder.frame_rate), base = plan.encoder.time_base;
  int64_t common = 0;
  for (const int64_t time : times) common = std::gcd(common, time - plan.begin);
  AVRational clock = {};
  if (common == 0 || !av_reduce(&clock.num, &clock.den, common * base.num, base.den, INT32_MAX) ||
      av_q2d(clock) * kMostTicksOfFrame < av_q2d(usual))
    return usual;
  return clock;
}

std::string DurationText(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1000) : fmt::format("{:.4g} s", seconds);
}

std::string RoundingLoss(const Plan& plan, AVRational clock) {
  const AVRational base = plan.encoder.time_base;
  const auto ticks = static_cast<__int128>(base.num) * clock.den;
  const bool meets_all = ticks % (static_cast<__int128>(base.den) * clock.num) == 0;
  if (meets_all && !plan.one_tick_each) return "";
  const AVOutputFormat& container = ContainerOf(plan.output);
  double largest = 0;
  int64_t last = AV_NOPTS_VALUE, count = 0;
  for (int64_t time : TimesOfResult(plan)) {
    time -= plan.begin;
    const int64_t rounded = plan.one_tick_each ? count++ : Rounded(time, base, clock);
    if (rounded == last && !(container.flags & AVFMT_TS_NONSTRICT))
      throw Failure(kExitUnsupported,
                    fmt::format("{} counts times in {}/{} s, so that two frames would have one; "
                                "use .mkv or .mp4",
                                container.name, clock.num, clock.den));
    last = rounded;
    largest = std::max(largest, std::abs(SecondsBetween(rounded, clock, time, base)));
  }
  if (largest == 0) return "";
  return fmt::format("times of frames change by up to {}: {} counts them in {}/{} s",
                     DurationText(largest), container.name, clock.num, clock.den);
}

namespace {

constexpr double kLeastShift = 0.001;  // of a stream beside another, in seconds
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// In seconds, by streams of one file: of frames as they are shown, kNone where one has none, and
/// of packets of the other streams, rising.
using Times = std::map<int, std::vector<double>>;

void Add(const AVPacket& packet, int stream, AVRational base, Times& times) {
  const int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (!(packet.flags & AV_PKT_FLAG_DISCARD) && time != AV_NOPTS_VALUE)
    times[stream].push_back(static_cast<double>(time) * av_q2d(base));
}

Times WantedOf(const Input& input, const Plan& plan, const SamplePackets& sample) {
  Times times;
  for (const PacketPtr& packet : sample.video)
    Add(*packet, input.video_index(), plan.encoder.time_base, times);
  for (const PacketPtr& packet : sample.others)
    Add(*packet, packet->stream_index, input.format().streams[packet->stream_index]->time_base,
        times);
  for (auto& [stream, values] : times) std::ranges::sort(values);
  return times;
}

Times TimesOf(AVFormatContext& back, int video) {
  Times times;
  const AVStream& stream = *back.streams[video];
  Decoder decoder(*stream.codecpar, 0);
  const auto take = [&](const FramePtr& frame) {
    const int64_t time = frame->best_effort_timestamp;
    times[video].push_back(
        time == AV_NOPTS_VALUE ? kNone : static_cast<double>(time) * av_q2d(stream.time_base));
  };
  for (PacketPtr packet = NewPacket(); av_read_frame(&back, packet.get()) >= 0;
       packet = NewPacket()) {
    if (packet->stream_index == video)
      decoder.Decode(packet.get(), take);
    else
      Add(*packet, packet->stream_index, back.streams[packet->stream_index]->time_base, times);
  }
  decoder.Decode(nullptr, take);
  for (auto& [index, values] : times)
    if (index != video) std::ranges::sort(values);
  return times;
}

std::string ShiftText(double seconds) {
  return fmt::format("{} by {}", seconds > 0 ? "later" : "earlier",
                     DurationText(std::abs(seconds)));
}

/// What is added to all times of a stream, and by how much one may be off it at most.
struct Shift {
  double seconds = 0, rest = 0;
  bool none = true, some = false;  // of times: there are no such, some frames have none
};

/// By the last of the times that are there, as that is the surest; by the first where frames are
/// counted from it on.
Shift ShiftOf(const std::vector<double>& wanted, const std::vector<double>& got, double tick,
              bool counted) {
  Shift shift;
  std::vector<double> changes;
  // A container that hides nothing shows a packet more.
  const size_t count = std::min(wanted.size(), got.size());
  const double* before = wanted.data() + wanted.size() - count;
  const double* after = got.data() + got.size() - count;
  for (size_t i = 0; i < count; ++i) {
    if (std::isnan(after[i]))
      shift.some = true;
    else
      changes.push_back(after[i] - before[i]);
  }
  shift.none = changes.empty();
  if (shift.none) return shift;
  const double change = counted ? changes.front() : changes.back();
  shift.seconds = std::abs(change) <= tick ? 0 : change;
  for (const double each : changes)
    shift.rest = std::max(shift.rest, std::abs(each - shift.seconds));
  if (shift.rest <= 2 * tick) shift.rest = 0;
  return shift;
}

/// The last word on frames: that they have no times, or what becomes of these.
void TellOfFrames(const Shift& shift, bool counted, std::string_view container, TimesFound& told) {
  told.of_frames = !shift.none;
  if (shift.none) {
    told.sentences = {fmt::format("{} holds no times of frames", container)};
    return;
  }
  if (shift.seconds != 0)
    told.sentences.push_back(
        fmt::format("times are {} in {}", ShiftText(shift.seconds), container));
  if (shift.some)
    told.sentences.push_back(fmt::format("{} may hold the times of some frames alone", container));
  // Of frames that are counted, all changes are told together.
  if (shift.rest > 0 && !counted)
    told.sentences.push_back(fmt::format("times of frames change by up to {}: {} moves them",
                                         DurationText(shift.rest), container));
}

}  // namespace

TimesFound FindTimes(const Input& input, const Plan& plan, const SamplePackets& sample,
                     const std::vector<int>& found, const OutputWriter& output,
                     AVFormatContext& back) {
  const std::string_view container = ContainerOf(plan.output).name;
  const int video = input.video_index();
  Times wanted = WantedOf(input, plan, sample);
  Times got = TimesOf(back, found[static_cast<size_t>(video)]);
  const bool counted = plan.frame_clock.num > 0;
  const auto shift_of = [&](int stream) {
    const AVRational before =
        stream == video ? plan.encoder.time_base : input.format().streams[stream]->time_base;
    // Times are rounded to ticks once, and some containers round where a stream begins.
    const double tick =
        av_q2d(output.ClockOf(stream)) / 2 + std::min(av_q2d(before) / 2, kLeastShift / 2) + 1e-9;
    return ShiftOf(wanted[stream], got[found[static_cast<size_t>(stream)]], tick,
                   counted && stream == video);
  };
  TimesFound told;
  const Shift common = shift_of(video);
  TellOfFrames(common, counted, container, told);
  if (common.none) return told;
  for (const auto& [stream, times] : wanted) {
    if (stream == video || !output.Carries(stream) || found[static_cast<size_t>(stream)] < 0)
      continue;
    const Shift shift = shift_of(stream);
    const double beside = shift.seconds - common.seconds;
    if (!shift.none && std::abs(beside) > kLeastShift)
      told.sentences.push_back(fmt::format("stream {} is {} beside the video in {}", stream,
                                           ShiftText(beside), container));
  }
  return told;
}

}  // namespace fettle::enhance
