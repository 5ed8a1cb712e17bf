// The stages from the file to the steps.
#include "analysis/scene.h"
#include "av/pixels.h"
#include "basics/timed.h"
#include "people/tracker.h"
#include "pipeline/stages.h"

namespace fettle::enhance {
namespace {

/// A decoded frame to the next stage; `waited` is the time for room there.
void Give(StageState& state, SceneTracker& tracker, FramePtr frame, std::atomic<int64_t>& waited) {
  const int64_t number = state.counters.decoded++;
  tracker.Add(*frame);
  if (number < state.skip) ++state.counters.skipped;
  if (state.between) frame->pts *= 2;  // in the encoder's time base
  const Timed waiting(waited);
  if (!state.HasPeople()) return state.Forward({number, std::move(frame), nullptr});
  const size_t bytes = FrameBytes(*frame);
  state.tracked.Push({number, std::move(frame), nullptr}, bytes, state.stop());
}

}  // namespace

void Demux(StageState& state) {
  while (PacketPtr packet = state.input.Read()) {
    if (packet->stream_index != state.input.video_index()) continue;
    const auto bytes = static_cast<size_t>(packet->size) + sizeof(AVPacket);
    if (state.packets.Push(std::move(packet), bytes, state.stop()) != Pushed::kOk) return;
  }
  if (state.input.cut_short()) ++state.counters.damaged;
  state.packets.Close();
}

void Decode(StageState& state) {
  const StepSetup& first = state.plan.first;
  Counters& counters = state.counters;
  // With several threads, quantisers of frames would differ from run to run.
  Decoder decoder = first.own_levels ? Decoder(state.input, 1, Decoder::kWithLevels)
                                     : Decoder(state.input, state.plan.threads);
  Converter converter(first.format, first.width, first.height);
  std::optional<Deinterlacer> fields = DeinterlacerOf(state.plan.chain);
  SceneTracker tracker(first.own_noise);
  std::atomic<int64_t> waited = 0;  // for room in the queue, or for a step
  /// A frame, or the end where it is null: the one before comes out.
  const auto deinterlace = [&](FramePtr frame) {
    const Timed step(counters.step_ns[0]), waiting(waited);
    return frame != nullptr ? fields->Next(std::move(frame)) : fields->Finish();
  };
  const auto take = [&](FramePtr frame) {
    frame = converter.Convert(std::move(frame));
    if (fields) frame = deinterlace(std::move(frame));
    if (frame != nullptr) Give(state, tracker, std::move(frame), waited);
  };
  while (std::optional<PacketPtr> packet = state.packets.Pop(state.stop())) {
    const Timed timed(counters.decode_ns);
    decoder.Decode(packet->get(), take);
  }
  if (state.stop().stop_requested()) return;
  {
    const Timed timed(counters.decode_ns);
    decoder.Decode(nullptr, take);
    FramePtr last = fields ? deinterlace(nullptr) : nullptr;
    if (last != nullptr) Give(state, tracker, std::move(last), waited);
  }
  counters.decode_ns -= waited;
  counters.damaged += decoder.damaged();
  counters.retimed = decoder.retimed();
  (state.HasPeople() ? state.tracked : state.ToSteps()).Close();
}

void Track(StageState& state) {
  PeopleTracker tracker(state.plan.first.full_range, state.plan.first.turns);
  std::atomic<int64_t>& taken = state.counters.step_ns[state.people];
  int64_t number = 0;
  std::atomic<int64_t> waited = 0;
  const auto give = [&](FramePtr frame) {
    const Timed waiting(waited);
    state.Forward({number++, std::move(frame), nullptr});
  };
  while (std::optional<Numbered> item = state.tracked.Pop(state.stop())) {
    const Timed timed(taken);
    tracker.Add(std::move(item->frame), give);
  }
  if (state.stop().stop_requested()) return;
  {
    const Timed timed(taken);
    tracker.Finish(give);
  }
  taken -= waited;
  state.counters.with_people = tracker.frames_with_people();
  state.counters.held = tracker.frames_held();
  state.ToSteps().Close();
}

}  // namespace fettle::enhance
