#include "live/stages.h"

#include <fmt/format.h>

#include "analysis/scene.h"
#include "basics/messages.h"

namespace fettle::enhance {
namespace {

constexpr size_t kPacketsWaiting = 2;
constexpr size_t kSoundBytes = 4 << 20;

/// Decoders of a stream whose codec may change, and frames with the times when they arrived.
class StreamDecoder {
 public:
  explicit StreamDecoder(LiveState& state)
      : state_(state),
        side_data_(state.plan.first.own_levels ? Decoder::kWithLevels : 0),
        base_(state.plan.encoder.time_base),
        converter_(state.plan.first.format, state.plan.first.width, state.plan.first.height),
        fields_(DeinterlacerOf(state.plan.chain)),
        tracker_(state.plan.first.own_noise),
        shape_{state.source.video().codecpar->width, state.source.video().codecpar->height} {
    decoder_.emplace(*state.source.video().codecpar, side_data_);
  }

  void Take(LivePacket item) {
    if (item.changed != nullptr) {
      Drain();
      decoder_.emplace(*item.changed, side_data_);
    }
    arrived_ = item.arrived;
    av_packet_rescale_ts(item.packet.get(), item.base, base_);
    if (item.packet->pts != AV_NOPTS_VALUE) arrivals_[item.packet->pts] = item.arrived;
    constexpr size_t kMostWaiting = 64;  // frames that are put into another order
    while (arrivals_.size() > kMostWaiting) arrivals_.erase(arrivals_.begin());
    const int64_t damaged = decoder_->damaged(), decoded = state_.decoded;
    decoder_->Decode(item.packet.get(), [&](FramePtr frame) { Give(std::move(frame)); });
    NoteDamage(decoder_->damaged() > damaged, state_.decoded > decoded);
  }
  void Drain() {
    arrivals_.clear();  // who waited for the next frame was not late by our fault
    arrived_ = LiveClock::now();
    decoder_->Decode(nullptr, [&](FramePtr frame) { Give(std::move(frame)); });
    state_.damaged += decoder_->damaged();
    state_.retimed += decoder_->retimed();
    if (!fields_) return;
    held_.arrived = arrived_;
    held_.frame = fields_->Finish();
    if (held_.frame != nullptr) Push(std::move(held_));
  }

 private:
  void NoteShape(const AVFrame& frame) {
    if (frame.width == shape_.first && frame.height == shape_.second) return;
    state_.Warn(
        fmt::format("its frames change from {}x{} to {}x{}; they are shown at {}x{} as "
                    "before",
                    shape_.first, shape_.second, frame.width, frame.height,
                    state_.plan.result.width, state_.plan.result.height));
    shape_ = {frame.width, frame.height};
  }
  /// Containers do not always tell that a codec changed.
  void NoteDamage(bool damaged, bool decoded) {
    constexpr int kMost = 25;
    if (decoded || !damaged) {
      damaged_in_row_ = decoded ? 0 : damaged_in_row_;
      return;
    }
    if (++damaged_in_row_ == kMost)
      state_.Warn(
          fmt::format("{} packets in a row could not be decoded: the codec may have changed; "
                      "frames continue when {} can be decoded again",
                      kMost, avcodec_get_name(state_.source.codec())));
  }
  void Give(FramePtr frame) {
    NoteShape(*frame);
    LiveFrame item{.number = state_.decoded++, .frame = nullptr, .arrived = arrived_};
    if (const auto known = arrivals_.find(frame->pts); known != arrivals_.end()) {
      item.arrived = known->second;
      arrivals_.erase(known);
    }
    // Behind a change of codec times go on rising.
    if (last_ != AV_NOPTS_VALUE && frame->pts <= last_) frame->pts = last_ + 1;
    last_ = frame->pts;
    item.frame = converter_.Convert(std::move(frame));
    if (!fields_) return Push(std::move(item));
    FramePtr before = fields_->Next(std::move(item.frame));
    std::swap(item, held_);
    item.frame = std::move(before);
    if (item.frame != nullptr) Push(std::move(item));
  }
  void Push(LiveFrame item) {
    tracker_.Add(*item.frame);
    state_.frames.Push(std::move(item), 1, state_.stop());
  }

  LiveState& state_;
  const int side_data_;
  const AVRational base_;
  Converter converter_;
  std::optional<Deinterlacer> fields_;
  LiveFrame held_;  // whose frame it holds
  SceneTracker tracker_;
  std::pair<int, int> shape_;
  std::optional<Decoder> decoder_;
  std::map<int64_t, LiveClock::time_point> arrivals_;
  LiveClock::time_point arrived_;
  int64_t last_ = AV_NOPTS_VALUE;
  int damaged_in_row_ = 0;
};

double MsSince(LiveClock::time_point start) {
  return std::chrono::duration<double, std::milli>(LiveClock::now() - start).count();
}

}  // namespace

LiveState::LiveState(LiveSource& source, const LivePlan& plan, const std::vector<Rung>& rungs,
                     LiveSink& sink)
    : source(source),
      plan(plan),
      rungs(rungs),
      sink(sink),
      ladder(rungs, plan.bound, 1e3 / av_q2d(plan.encoder.frame_rate), plan.threads),
      packets(kPacketsWaiting),
      others(kSoundBytes),
      frames(1),
      results(static_cast<size_t>(plan.threads), 0, plan.threads),
      by_rung(rungs.size()) {}

void LiveState::Warn(const std::string& sentence) {
  constexpr size_t kMost = 20;
  const std::lock_guard lock(saying);
  if (said.size() >= kMost || !said.insert(sentence).second) return;
  PrintMessage("fettle: warning: {}\n", OneLine(sentence));
  warnings.push_back(sentence);
}

void ReadStream(LiveState& state, std::stop_token stop) {
  size_t told = 0;
  while (!stop.stop_requested() && !state.stop().stop_requested()) {
    LivePacket item = state.source.Read();
    for (; told < state.source.events().size(); ++told) state.Warn(state.source.events()[told]);
    if (item.packet == nullptr) break;
    const auto bytes = static_cast<size_t>(item.packet->size) + sizeof(AVPacket);
    if (item.video)
      state.packets.Push(std::move(item), 1, state.stop());
    else
      state.others.Push(std::move(item), bytes, state.stop());
  }
  state.packets.Close();
  state.others.Close();
}

void DecodeStream(LiveState& state) {
  StreamDecoder decoder(state);
  while (std::optional<LivePacket> item = state.packets.Pop(state.stop()))
    decoder.Take(std::move(*item));
  if (!state.stop().stop_requested()) decoder.Drain();
  state.frames.Close();
}

void EnhanceStream(LiveState& state) {
  StepSetup first = state.plan.first;
  first.whole_frames = true;
  RungChains chains(state.rungs, first, state.plan.result);
  while (std::optional<LiveFrame> item = state.frames.Pop(state.stop())) {
    const size_t rung = state.ladder.Choose(item->arrived);
    const LiveClock::time_point start = LiveClock::now();
    item->frame = chains.Apply(rung, std::move(item->frame));
    state.ladder.Took(rung, MsSince(start));
    ++state.by_rung[rung];
    const int64_t number = item->number;
    if (state.results.Push(number, std::move(*item), 1, state.stop()) != Pushed::kOk) return;
  }
  state.results.Done();
}

void WriteStream(LiveState& state) {
  while (std::optional<LiveFrame> item = state.results.Pop(state.stop())) {
    const LiveClock::time_point start = LiveClock::now();
    while (std::optional<LivePacket> other = state.others.TryPop())
      state.sink.WriteOther(std::move(other->packet), other->base);
    state.sink.Write(std::move(item->frame));
    state.ladder.TookAfter(MsSince(start));
    const double ms = MsSince(item->arrived);
    state.latencies.Add(ms);
    state.late += ms > state.plan.shown_bound ? 1 : 0;
    ++state.written;
  }
  while (std::optional<LivePacket> other = state.others.TryPop())
    state.sink.WriteOther(std::move(other->packet), other->base);
}

}  // namespace fettle::enhance
