#include "job/found_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "av/suffix.h"
#include "job/times.h"

namespace fettle::enhance {
namespace {

constexpr double kLeastShift = 0.001;  // of a stream beside another, in seconds

std::string ShiftText(double seconds) {
  return fmt::format("{} by {}", seconds > 0 ? "later" : "earlier",
                     DurationText(std::abs(seconds)));
}

/// What is added to all times of a stream, and by how much one may be off it at most.
struct Shift {
  double seconds = 0, rest = 0;
  bool none = true;  // of times: there are no such
};

/// By the last of the times that are there, as that is the surest; by the first where frames are
/// counted from it on.
Shift ShiftOf(const std::vector<double>& moves, double tick, bool counted) {
  Shift shift{.none = moves.empty()};
  if (shift.none) return shift;
  const double move = counted ? moves.front() : moves.back();
  // Where frames are counted, their ticks are as long as frames, and the first one is not rounded.
  shift.seconds = std::abs(move) <= (counted ? std::min(tick, kLeastShift / 2) : tick) ? 0 : move;
  for (const double each : moves) shift.rest = std::max(shift.rest, std::abs(each - shift.seconds));
  if (shift.rest <= 2 * tick) shift.rest = 0;
  return shift;
}

/// Of frames in the order that they are shown in: containers that hide none show one more.
std::vector<double> MovesOf(const std::vector<double>& wanted, const std::vector<double>& got) {
  std::vector<double> moves;
  const size_t count = std::min(wanted.size(), got.size());
  const double* before = wanted.data() + wanted.size() - count;
  const double* after = got.data() + got.size() - count;
  for (size_t i = 0; i < count; ++i)
    if (!std::isnan(after[i])) moves.push_back(after[i] - before[i]);
  return moves;
}

std::vector<double> TimesShown(std::span<const PacketSeen> packets) {
  std::vector<double> times;
  for (const PacketSeen& one : packets)
    if (!one.hidden && !std::isnan(one.time)) times.push_back(one.time);
  std::ranges::sort(times);
  return times;
}

/// Times are rounded to ticks once, and some containers round where a stream begins.
double TickOf(AVRational before, double after) {
  return after / 2 + std::min(av_q2d(before) / 2, kLeastShift / 2) + 1e-9;
}

/// Of sound: a packet is no tick, as AVI has it.
double TickOfStream(AVRational before, AVRational after) {
  return TickOf(before, std::min(av_q2d(after), kLeastShift));
}

double TickOfFrames(const Input& input, const Plan& plan, const Written& written) {
  return TickOf(plan.encoder.time_base,
                av_q2d(written.clocks[static_cast<size_t>(input.video_index())]));
}

std::string MovedText(double seconds, std::string_view container) {
  return fmt::format("times of frames change by up to {}: {} moves them", DurationText(seconds),
                     container);
}

/// What became of one stream beside the video, in words.
void TellOfStream(int stream, const PacketChange& change, const Shift& moved, double beside,
                  std::string_view container, std::vector<std::string>& told) {
  if (change.lost > 0)
    told.push_back(fmt::format("{} of {} packets of stream {} are lost in {}", change.lost,
                               change.packets, stream, container));
  if (change.others > 0)
    told.push_back(fmt::format("{} of {} packets of stream {} differ in {}", change.others,
                               change.packets, stream, container));
  if (moved.none) return;
  if (std::abs(beside) > kLeastShift)
    told.push_back(fmt::format("stream {} is {} beside the video in {}", stream, ShiftText(beside),
                               container));
  if (moved.rest > kLeastShift)
    told.push_back(fmt::format("times of stream {} change by up to {}: {} moves them", stream,
                               DurationText(moved.rest), container));
}

}  // namespace

ReadAgain ReadAndDecode(AVFormatContext& back, int video) {
  ReadAgain read;
  const AVStream& stream = *back.streams[video];
  Decoder decoder(*stream.codecpar, 0);
  const auto take = [&](const FramePtr& frame) {
    const int64_t time = frame->best_effort_timestamp;
    read.frames.push_back(time == AV_NOPTS_VALUE
                              ? PacketSeen::kNoTime
                              : static_cast<double>(time) * av_q2d(stream.time_base));
  };
  for (PacketPtr packet = NewPacket(); av_read_frame(&back, packet.get()) >= 0;
       packet = NewPacket()) {
    if (packet->stream_index == video) decoder.Decode(packet.get(), take);
    read.packets.Add(*packet, packet->stream_index, back.streams[packet->stream_index]->time_base);
  }
  decoder.Decode(nullptr, take);
  return read;
}

std::vector<std::string> FindChangesOfStreams(const Input& input, const Plan& plan,
                                              const Written& written, const std::vector<int>& found,
                                              const ReadAgain& back, double shift,
                                              std::map<int, double>* beside) {
  std::vector<std::string> told;
  for (unsigned i = 0; i < input.format().nb_streams; ++i) {
    const AVStream& stream = *input.format().streams[i];
    const int index = static_cast<int>(i);
    if (index == input.video_index() || written.places[i] < 0 || found[i] < 0 ||
        stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO)
      continue;
    const PacketChange change = ChangeOf(written.packets.Of(index), back.packets.Of(found[i]));
    const Shift moved =
        ShiftOf(change.moves, TickOfStream(stream.time_base, written.clocks[i]), false);
    const double away = moved.none ? 0 : moved.seconds - shift;
    if (beside != nullptr && std::abs(away) > kLeastShift) beside->emplace(index, away);
    TellOfStream(index, change, moved, away, SuffixOf(plan.output), told);
  }
  return told;
}

TimesFound FindTimes(const Input& input, const Plan& plan, const Written& written,
                     const std::vector<int>& found, const ReadAgain& back) {
  const std::string container = SuffixOf(plan.output);
  const int video = input.video_index();
  const bool counted = plan.frame_clock.num > 0;
  const Shift frames = ShiftOf(MovesOf(TimesShown(written.packets.Of(video)), back.frames),
                               TickOfFrames(input, plan, written), counted);
  TimesFound told{.frames_have_times = !frames.none, .shift = frames.seconds};
  if (frames.none) {
    told.of_frames = {fmt::format("{} holds no times of frames", container)};
    return told;
  }
  if (frames.seconds != 0)
    told.of_frames.push_back(
        fmt::format("times are {} in {}", ShiftText(frames.seconds), container));
  if (std::ranges::any_of(back.frames, [](double time) { return std::isnan(time); }))
    told.of_frames.push_back(fmt::format("{} may hold the times of only some frames", container));
  // Of frames that are counted, all changes are told together.
  if (frames.rest > 0 && !counted) told.of_frames.push_back(MovedText(frames.rest, container));
  told.of_streams =
      FindChangesOfStreams(input, plan, written, found, back, frames.seconds, &told.beside);
  return told;
}

std::string FindMovedFrames(const Input& input, const Plan& plan, const Written& written,
                            const ReadAgain& back) {
  const std::vector<double> wanted = TimesShown(written.packets.Of(input.video_index()));
  std::vector<double> got = back.frames;
  const bool all = std::ranges::none_of(got, [](double time) { return std::isnan(time); });
  if (!plan.frames_have_times || plan.frame_clock.num > 0 || !all || wanted.size() != got.size())
    return "";
  std::ranges::sort(got);
  double most = 0;
  for (const double move : MovesOf(wanted, got)) most = std::max(most, std::abs(move - plan.shift));
  // The plan tells what rounding to the container's ticks does.
  if (most <= 3 * TickOfFrames(input, plan, written)) return "";
  const std::string container = SuffixOf(plan.output);
  const std::string moved = MovedText(most, container);
  const bool told = std::ranges::any_of(plan.losses, [](const std::string& loss) {
    return loss.starts_with("times of frames change") && loss.ends_with("moves them");
  });
  return told ? "" : moved;
}

}  // namespace fettle::enhance
