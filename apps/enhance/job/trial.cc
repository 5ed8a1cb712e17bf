#include "job/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "av/carrying.h"
#include "av/suffix.h"
#include "av/tag_losses.h"
#include "job/found_times.h"
#include "job/times.h"

namespace fettle::enhance {
namespace {

/// What the container made of the sample, where it took it at all.
struct Findings {
  std::string refusal;               // of the whole, or of the video; empty: none
  std::map<int, std::string> wrong;  // streams of the input that are not found again, and why
};

bool HasDecoder(const AVStream& stream) {
  const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
  const CodecPtr context(codec == nullptr ? nullptr : avcodec_alloc_context3(codec));
  return context != nullptr && avcodec_parameters_to_context(context.get(), stream.codecpar) >= 0 &&
         avcodec_open2(context.get(), codec, nullptr) >= 0;
}

/// A stream beside the video, as well as it could before: some containers lose what its decoder
/// begins with.
bool CanBeDecoded(const AVStream& before, const AVStream& after) {
  return before.codecpar->codec_type != AVMEDIA_TYPE_AUDIO || HasDecoder(after) ||
         !HasDecoder(before);
}

Findings Inspect(const Input& input, const Plan& plan, const SamplePackets& sample) {
  Findings findings;
  const auto look = [&](AVFormatContext& back, const Written& written) {
    const std::vector<int> found = FoundAgain(input, written, back);
    for (size_t i = 0; i < found.size(); ++i) {
      if (written.places[i] < 0) continue;
      const bool video = static_cast<int>(i) == input.video_index();
      const AVCodecID wanted =
          video ? sample.parameters->codec_id : input.format().streams[i]->codecpar->codec_id;
      std::string& text = video ? findings.refusal : findings.wrong[static_cast<int>(i)];
      if (found[i] < 0)
        text = "it is lost";
      else if (back.streams[found[i]]->codecpar->codec_id != wanted)
        text = fmt::format("it comes back as {}",
                           avcodec_get_name(back.streams[found[i]]->codecpar->codec_id));
      else if (!video && !CanBeDecoded(*input.format().streams[i], *back.streams[found[i]]))
        text = "it cannot be decoded";
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

/// Of a stream that the container does not take beside those before it.
std::string WhyNotBeside(const Input& input, const SamplePackets& sample, const StreamFate& fate,
                         Plan& plan) {
  const std::vector<StreamFate> kept = plan.streams;
  for (StreamFate& other : plan.streams)
    other.carried = other.index == input.video_index() || other.index == fate.index;
  const bool held_alone = Inspect(input, plan, sample).refusal.empty();
  std::ranges::copy(kept, plan.streams.begin());
  const std::string suffix = SuffixOf(plan.output);
  if (held_alone) return fmt::format("{} does not hold it together with the others", suffix);
  return fmt::format("{} cannot hold {}", suffix,
                     CodecText(input.format().streams[fate.index]->codecpar->codec_id));
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
    throw Failure(
        kExitUnsupported,
        fmt::format(
            "{}: {} cannot hold {} of this video ({}); --encoder can be {}; or use .mkv or .mp4",
            plan.output.string(), SuffixOf(plan.output),
            avcodec_get_name(sample.parameters->codec_id), alone.refusal,
            CarriedBy(container, plan.encoder.name)));
  for (StreamFate* fate : others) {
    fate->carried = true;
    if (!Inspect(input, plan, sample).refusal.empty())
      LeaveOut(*fate, WhyNotBeside(input, sample, *fate, plan));
  }
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
  TimesFound times;
};

TrialLoss LossOf(const Input& input, const SamplePackets& sample, Plan& plan) {
  TrialLoss loss;
  AVRational clock = {};
  const auto look = [&](AVFormatContext& back, const Written& written) {
    const std::vector<int> found = FoundAgain(input, written, back);
    loss.tags = TagLossOf(input, found, plan.encoder, back);
    NoteTimecode(input, back, plan);
    const auto video = static_cast<size_t>(input.video_index());
    loss.times = FindTimes(input, plan, written, found, ReadAndDecode(back, found[video]));
    if (loss.times.frames_have_times) clock = written.clocks[video];
  };
  ReadBack(input, plan, sample, look);
  if (clock.num == 0) return loss;
  const std::string rounding = RoundingLoss(plan, clock);
  if (!rounding.empty()) loss.times.of_frames.push_back(rounding);
  return loss;
}

/// Streams that the container moves as a whole beside the video, as Matroska does Opus by what its
/// decoder begins with, are written earlier or later by that, where it brings them back.
void CounterShifts(const Input& input, const SamplePackets& sample, Plan& plan, TrialLoss& usual) {
  for (const auto& [stream, seconds] : usual.times.beside) plan.counter_shifts[stream] = -seconds;
  if (plan.counter_shifts.empty()) return;
  TrialLoss countered = LossOf(input, sample, plan);
  if (countered.times.of_streams.size() < usual.times.of_streams.size() &&
      countered.times.of_frames == usual.times.of_frames)
    usual = std::move(countered);
  else
    plan.counter_shifts.clear();
}

}  // namespace

SamplePackets TryOutput(const Input& input, Plan& plan) {
  SamplePackets sample = SampleFor(plan);
  if (!Inspect(input, plan, sample).refusal.empty()) AddOneByOne(input, sample, plan);
  for (const auto& [stream, reason] : Inspect(input, plan, sample).wrong)
    LeaveOut(plan.streams[static_cast<size_t>(stream)],
             fmt::format("in {} {}", SuffixOf(plan.output), reason));
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
  CounterShifts(input, sample, plan, usual);
  std::vector<std::string> losses = std::move(usual.tags.sentences);
  losses.insert(losses.end(), usual.times.of_frames.begin(), usual.times.of_frames.end());
  plan.moved_streams = std::move(usual.times.of_streams);
  plan.frames_have_times = usual.times.frames_have_times;
  plan.shift = usual.times.shift;
  return losses;
}

}  // namespace fettle::enhance
