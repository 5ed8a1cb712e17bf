#include "job/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "av/container.h"
#include "av/suffix.h"

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
  Input input(plan.input, plan.cut);
  std::vector<int64_t> times;
  bool shown = true;  // all times of showing are told
  while (const PacketPtr packet = input.Read()) {
    if (packet->stream_index == input.video_index() && packet->dts != AV_NOPTS_VALUE)
      shown = shown && packet->pts != AV_NOPTS_VALUE;
    const int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    if (packet->stream_index == input.video_index() && time != AV_NOPTS_VALUE &&
        input.Holds(time) && !(packet->flags & AV_PKT_FLAG_DISCARD))
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
      throw Failure(kExitUnsupported, fmt::format("{} counts times in {}/{} s, so two frames would "
                                                  "have the same time; use .mkv or .mp4",
                                                  SuffixOf(plan.output), clock.num, clock.den));
    last = rounded;
    largest = std::max(largest, std::abs(SecondsBetween(rounded, clock, time, base)));
  }
  if (largest == 0) return "";
  return fmt::format("times of frames change by up to {}: {} counts them in {}/{} s",
                     DurationText(largest), SuffixOf(plan.output), clock.num, clock.den);
}

}  // namespace fettle::enhance
