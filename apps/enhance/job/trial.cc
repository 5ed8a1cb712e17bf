#include "job/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "av/carrying.h"
#include "job/tag_losses.h"
#include "job/times.h"

namespace fettle::enhance {
namespace {

/// What the container made of the sample, where it took it at all.
struct Findings {
  std::string refusal;               // of the whole, or of the video; empty: none
  std::map<int, std::string> wrong;  // streams of the input that are not found again, and why
};

Findings Inspect(const Input& input, const Plan& plan, const SamplePackets& sample) {
  Findings findings;
  const auto look = [&](AVFormatContext& back, const OutputWriter& output) {
    const std::vector<int> found = FoundAgain(input, output, back);
    for (size_t i = 0; i < found.size(); ++i) {
      if (!output.Carries(static_cast<int>(i))) continue;
      const bool video = static_cast<int>(i) == input.video_index();
      const AVCodecID wanted =
          video ? sample.parameters->codec_id : input.format().streams[i]->codecpar->codec_id;
      std::string& text = video ? findings.refusal : findings.wrong[static_cast<int>(i)];
      if (found[i] < 0)
        text = "it is not found again in it";
      else if (back.streams[found[i]]->codecpar->codec_id != wanted)
        text = fmt::format("it comes back as {}",
                           avcodec_get_name(back.streams[found[i]]->codecpar->codec_id));
      else if (video && !DecodesFrame(back, *back.streams[found[i]], plan.encoder.width,
                                      plan.encoder.height))
        text = "its frames cannot be decoded";
    }
    std::erase_if(findings.wrong, [](const auto& row) { return row.second.empty(); });
  };
  try {
    ReadBack(input, plan, sample, look);
  } catch (const Failure& failure) {
    findings.refusal = failure.what();
  }
  return findings;
}

void LeaveOut(StreamFate& fate, const std::string& reason) {
  fate.carried = false;
  fate.reason = reason;
}

/// The streams beside the video one after another, as the container may take one and not two.
void AddOneByOne(const Input& input, const SamplePackets& sample, Plan& plan) {
  const AVOutputFormat& container = ContainerOf(plan.output);
  std::vector<StreamFate*> others;
  for (StreamFate& fate : plan.streams)
    if (fate.carried && fate.index != input.video_index()) {
      others.push_back(&fate);
      fate.carried = false;
    }
  const Findings alone = Inspect(input, plan, sample);
  if (!alone.refusal.empty())
    throw Failure(kExitUnsupported,
                  fmt::format("{}: {} cannot hold {} as it is here ({}); it can hold {}; use .mkv "
                              "or .mp4",
                              plan.output.string(), container.name,
                              avcodec_get_name(sample.parameters->codec_id), alone.refusal,
                              CarriedBy(container)));
  for (StreamFate* fate : others) {
    fate->carried = true;
    if (!Inspect(input, plan, sample).refusal.empty())
      LeaveOut(*fate, fmt::format("{} does not hold it beside the others", container.name));
  }
}

/// In seconds, rising, by streams.
using Times = std::map<int, std::vector<double>>;

void Add(const AVPacket& packet, int stream, AVRational base, Times& times) {
  const int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (!(packet.flags & AV_PKT_FLAG_DISCARD) && time != AV_NOPTS_VALUE)
    times[stream].push_back(static_cast<double>(time) * av_q2d(base));
}

Times TimesOf(const Input& input, const Plan& plan, const SamplePackets& sample) {
  Times times;
  for (const PacketPtr& packet : sample.video)
    Add(*packet, input.video_index(), plan.encoder.time_base, times);
  for (const PacketPtr& packet : sample.others)
    Add(*packet, packet->stream_index, input.format().streams[packet->stream_index]->time_base,
        times);
  for (auto& [stream, values] : times) std::ranges::sort(values);
  return times;
}

Times TimesOf(AVFormatContext& back) {
  Times times;
  for (PacketPtr packet = NewPacket(); av_read_frame(&back, packet.get()) >= 0;
       packet = NewPacket())
    Add(*packet, packet->stream_index, back.streams[packet->stream_index]->time_base, times);
  for (auto& [stream, values] : times) std::ranges::sort(values);
  return times;
}

std::string ShiftText(double seconds) {
  return fmt::format("{} by {}", seconds > 0 ? "later" : "earlier",
                     DurationText(std::abs(seconds)));
}

/// Of streams whose times are all others by the same, beyond the container's ticks.
struct Shifts {
  std::map<int, double> seconds;
  bool none_of_video = false;  // the video has no times at all
};

Shifts ShiftsOf(const Input& input, const Times& wanted, const Times& got,
                const std::vector<int>& found, const OutputWriter& output) {
  Shifts shifts;
  for (const auto& [stream, times] : wanted) {
    if (!output.Carries(stream) || found[static_cast<size_t>(stream)] < 0) continue;
    const auto there = got.find(found[static_cast<size_t>(stream)]);
    if (there == got.end()) {
      shifts.none_of_video = shifts.none_of_video || stream == input.video_index();
      continue;
    }
    const double tick =
        av_q2d(output.ClockOf(stream)) / 2 + av_q2d(input.format().streams[stream]->time_base) / 2;
    const double shift = there->second.back() - times.back();
    shifts.seconds[stream] = std::abs(shift) <= tick + 1e-9 ? 0 : shift;
  }
  return shifts;
}

std::vector<std::string> TextsOf(const Input& input, const Shifts& shifts,
                                 std::string_view container) {
  std::vector<std::string> texts;
  if (shifts.none_of_video) return {fmt::format("{} holds no times of frames", container)};
  const auto video = shifts.seconds.find(input.video_index());
  const double common = video == shifts.seconds.end() ? 0 : video->second;
  if (common != 0) texts.push_back(fmt::format("times are {} in {}", ShiftText(common), container));
  for (const auto& [stream, seconds] : shifts.seconds)
    if (std::abs(seconds - common) > 0.001)
      texts.push_back(fmt::format("stream {} is {} beside the video in {}", stream,
                                  ShiftText(seconds - common), container));
  return texts;
}

/// AVI counts from its first frame on: one that is late is at 0, and the others are where they
/// were.
std::string FirstFrameLoss(const Plan& plan, const std::vector<double>& wanted,
                           const std::vector<double>& got) {
  if (plan.frame_clock.num <= 0 || wanted.empty() || got.empty()) return "";
  const double change = std::abs(got.front() - wanted.front());
  if (change <= av_q2d(plan.frame_clock) || got.front() > 0) return "";
  return fmt::format("times of frames change by up to {}: {} holds no late begin",
                     DurationText(change), ContainerOf(plan.output).name);
}

/// A track of timecodes that the container makes of a tag.
void NoteTimecode(const Input& input, const AVFormatContext& back, Plan& plan) {
  bool there = av_dict_get(back.metadata, "timecode", nullptr, 0) != nullptr;
  for (unsigned i = 0; i < back.nb_streams; ++i)
    there = there || av_dict_get(back.streams[i]->metadata, "timecode", nullptr, 0) != nullptr;
  for (StreamFate& fate : plan.streams)
    if (!fate.carried && there &&
        input.format().streams[fate.index]->codecpar->codec_tag == MKTAG('t', 'm', 'c', 'd'))
      fate.made_anew = true;
}

struct TrialLoss {
  TagLoss tags;
  std::vector<std::string> times;
};

TrialLoss LossOf(const Input& input, const SamplePackets& sample, Plan& plan) {
  TrialLoss loss;
  AVRational clock = {};
  const auto look = [&](AVFormatContext& back, const OutputWriter& output) {
    const std::vector<int> found = FoundAgain(input, output, back);
    loss.tags = TagLossOf(input, found, plan.encoder, back);
    NoteTimecode(input, back, plan);
    Times wanted = TimesOf(input, plan, sample), got = TimesOf(back);
    const Shifts shifts = ShiftsOf(input, wanted, got, found, output);
    loss.times = TextsOf(input, shifts, ContainerOf(plan.output).name);
    const int video = input.video_index();
    const int there = found[static_cast<size_t>(video)];
    const std::string first = there < 0 ? "" : FirstFrameLoss(plan, wanted[video], got[there]);
    if (!first.empty()) loss.times.push_back(first);
    if (!shifts.none_of_video) clock = output.ClockOf(input.video_index());
  };
  ReadBack(input, plan, sample, look);
  if (clock.num == 0) return loss;
  const std::string rounding = RoundingLoss(plan, clock);
  if (!rounding.empty()) loss.times.push_back(rounding);
  return loss;
}

}  // namespace

SamplePackets TryOutput(const Input& input, Plan& plan) {
  SamplePackets sample = SampleFor(plan);
  if (!Inspect(input, plan, sample).refusal.empty()) AddOneByOne(input, sample, plan);
  for (const auto& [stream, reason] : Inspect(input, plan, sample).wrong)
    LeaveOut(plan.streams[static_cast<size_t>(stream)],
             fmt::format("in {} {}", ContainerOf(plan.output).name, reason));
  return sample;
}

std::vector<std::string> TrialLosses(const Input& input, const SamplePackets& sample, Plan& plan) {
  TrialLoss usual = LossOf(input, sample, plan);
  const std::string_view container = ContainerOf(plan.output).name;
  if (usual.tags.tags > 0 && (container == "mov" || container == "mp4")) {
    // As QuickTime keeps tags, by names of any kind; else there is a list of names.
    plan.muxer_options = {{"movflags", "use_metadata_tags"}};
    TrialLoss named = LossOf(input, sample, plan);
    if (named.tags.tags < usual.tags.tags)
      usual = std::move(named);
    else
      plan.muxer_options.clear();
  }
  std::vector<std::string> losses = std::move(usual.tags.sentences);
  losses.insert(losses.end(), usual.times.begin(), usual.times.end());
  return losses;
}

}  // namespace fettle::enhance
