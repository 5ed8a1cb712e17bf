// The stages in which steps work: before the one between frames, on pairs of them, and after it.
#include "alert/find.h"
#include "basics/timed.h"
#include "motion/between.h"
#include "people/people.h"
#include "pipeline/stages.h"

namespace fettle::enhance {
namespace {

FramePtr MakeBetween(Between& between, const AVFrame& frame, const AVFrame& next,
                     Counters& counters) {
  FramePtr made = between.Make(frame, next);
  made->pts = frame.pts + DurationOf(frame);
  SetDuration(*made, next.pts - made->pts);
  ClearKey(*made);
  AttachBoth(*made, frame, next);
  ForgetFinds(*made);
  // Characters of captions are told once.
  av_frame_remove_side_data(made.get(), AV_FRAME_DATA_A53_CC);
  counters.moved += between.kind() == PairKind::kMoved;
  counters.cuts += between.kind() == PairKind::kCut;
  counters.repeated += between.kind() == PairKind::kRepeated;
  return made;
}

/// False where the job ends.
bool Put(StageState& state, int64_t number, FramePtr frame) {
  if (number < state.skip) return true;
  const size_t bytes = FrameBytes(*frame);
  return state.results.Push(number, std::move(frame), bytes, state.stop()) == Pushed::kOk;
}

}  // namespace

Chain& WorkerChain::By(const std::string& network) {
  if (!chain_ || first_.network != network) {
    first_.network = network;
    chain_.emplace(links_, first_, nanoseconds_);
  }
  return *chain_;
}

void Prepare(StageState& state) {
  WorkerChain chain(state.before, state.plan.first, state.counters.step_ns);
  while (std::optional<Numbered> item = state.decoded.Pop(state.stop())) {
    // Of a pair that was done, neither is needed.
    const bool done = 2 * item->number + 1 < state.skip && !state.scenes.Wants(*item->frame);
    Chain& steps = chain.By(state.schedule.Take(item->number));
    FramePtr frame = done ? std::move(item->frame) : steps.Apply(std::move(item->frame));
    const size_t bytes = FrameBytes(*frame);
    if (state.prepared.Push(item->number, std::move(frame), bytes, state.stop()) != Pushed::kOk)
      return;
  }
  state.prepared.Done();
}

void Pair(StageState& state) {
  Numbered last;
  const auto push = [&](Numbered item) {
    const size_t bytes = FrameBytes(*item.frame);
    state.frames.Push(std::move(item), bytes, state.stop());
  };
  while (std::optional<FramePtr> frame = state.prepared.Pop(state.stop())) {
    if (last.frame != nullptr) {
      last.next.reset(av_frame_clone(frame->get()));
      if (last.next == nullptr) throw std::bad_alloc();
      SetDuration(*last.frame, (last.next->pts - last.frame->pts) / 2);
      push({last.number, std::move(last.frame), std::move(last.next)});
      ++last.number;
    }
    last.frame = std::move(*frame);
  }
  if (last.frame != nullptr) {
    SetDuration(*last.frame, 2 * DurationOf(*last.frame));
    push(std::move(last));
  }
  state.frames.Close();
}

void Enhance(StageState& state) {
  const size_t first = state.between ? state.before.size() + 1 : 0;
  const std::span step_ns(state.counters.step_ns);
  WorkerChain chain(state.after, SetupAfter(state.before, state.plan.first),
                    step_ns.subspan(first));
  Between between;
  while (std::optional<Numbered> item = state.frames.Pop(state.stop())) {
    const int64_t number = state.between ? 2 * item->number : item->number;
    Chain& steps = chain.By(state.schedule.Take(item->number));
    FramePtr made;
    if (item->next != nullptr && number + 1 >= state.skip) {
      const Timed timed(step_ns[first - 1]);
      made = MakeBetween(between, *item->frame, *item->next, state.counters);
    }
    const FramePtr before(state.scenes.Wants(*item->frame) ? av_frame_clone(item->frame.get())
                                                           : nullptr);
    // Frames that were done before are here to be shown, or for the sake of the next one.
    if (number >= state.skip || before != nullptr) {
      FramePtr frame = steps.Apply(std::move(item->frame));
      if (before != nullptr) state.scenes.Compare(*before, *frame);
      if (!Put(state, number, std::move(frame))) return;
    }
    if (made != nullptr && !Put(state, number + 1, steps.Apply(std::move(made)))) return;
  }
  state.results.Done();
}

}  // namespace fettle::enhance
