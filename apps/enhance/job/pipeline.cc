#include "job/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "alert/find.h"
#include "analysis/scene.h"
#include "av/pixels.h"
#include "basics/queue.h"
#include "motion/between.h"
#include "people/tracker.h"

namespace fettle::enhance {
namespace {

constexpr size_t kPacketBytes = 4 << 20;
constexpr size_t kFrameBytes = 8 << 20;

/// A frame of the input, and the one after it where one is made between them.
struct Numbered {
  int64_t number = 0;
  FramePtr frame, next;
};

/// Adds the time that it lives.
class Timed {
 public:
  explicit Timed(std::atomic<int64_t>& total) : total_(total) {}
  ~Timed() { total_ += std::chrono::nanoseconds(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<int64_t>& total_;
  Clock::time_point start_ = Clock::now();
};

bool IsKey(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_KEY;
#else
  return frame.key_frame != 0;
#endif
}

void ClearKey(AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags &= ~AV_FRAME_FLAG_KEY;
#else
  frame.key_frame = 0;
#endif
}

/// One worker's chain, made anew where the network is another.
class WorkerChain {
 public:
  WorkerChain(const std::vector<ChainLink>& links, StepSetup first,
              std::span<std::atomic<int64_t>> nanoseconds)
      : links_(links), first_(std::move(first)), nanoseconds_(nanoseconds) {}
  Chain& By(const std::string& network) {
    if (!chain_ || first_.network != network) {
      first_.network = network;
      chain_.emplace(links_, first_, nanoseconds_);
    }
    return *chain_;
  }

 private:
  const std::vector<ChainLink>& links_;
  StepSetup first_;
  std::span<std::atomic<int64_t>> nanoseconds_;
  std::optional<Chain> chain_;
};

class Pipeline {
 public:
  Pipeline(const Plan& plan, int64_t skip, const std::string& network, FrameSink& sink,
           Counters& counters, SceneLog& scenes)
      : plan_(plan),
        skip_(skip),
        schedule_(network),
        sink_(sink),
        counters_(counters),
        scenes_(scenes),
        input_(plan.input),
        before_(LinksBefore(plan.chain)),
        after_(LinksAfter(plan.chain)),
        between_(MakesBetween(plan.chain)),
        people_(std::ranges::find_if(plan.chain,
                                     [](const ChainLink& link) { return NeedsPeople(*link.row); }) -
                plan.chain.begin()),
        prepared_(kFrameBytes, 0, plan.threads),
        results_(kFrameBytes, skip, plan.threads) {}

  /// The stages, each in a thread of its own, until all have ended.
  void Run(std::stop_token stop) {
    const std::stop_callback forward(stop, [this] { error_.stop().request_stop(); });
    std::vector<std::jthread> threads;
    const auto start = [&](void (Pipeline::*stage)()) {
      threads.emplace_back([this, stage] {
        try {
          (this->*stage)();
        } catch (...) {
          error_.Set();
        }
      });
    };
    start(&Pipeline::Demux);
    start(&Pipeline::Decode);
    if (HasPeople()) start(&Pipeline::Track);
    if (between_) {
      for (int i = 0; i < plan_.threads; ++i) start(&Pipeline::Prepare);
      start(&Pipeline::Pair);
    }
    for (int i = 0; i < plan_.threads; ++i) start(&Pipeline::Enhance);
    start(&Pipeline::Encode);
    threads.clear();
    error_.RethrowIfAny();
  }

 private:
  std::stop_token stop() { return error_.stop().get_token(); }

  void Demux() {
    while (PacketPtr packet = input_.Read()) {
      if (packet->stream_index != input_.video_index()) continue;
      const auto bytes = static_cast<size_t>(packet->size) + sizeof(AVPacket);
      if (packets_.Push(std::move(packet), bytes, stop()) != Pushed::kOk) return;
    }
    packets_.Close();
  }

  void Decode() {
    // With several threads, quantisers of frames would differ from run to run.
    Decoder decoder = plan_.first.own_levels ? Decoder(input_, 1, Decoder::kWithLevels)
                                             : Decoder(input_, plan_.threads);
    Converter converter(plan_.first.format, plan_.first.width, plan_.first.height);
    SceneTracker tracker(plan_.first.own_noise);
    std::atomic<int64_t> waited = 0;  // for room in the queue
    const auto take = [&](FramePtr frame) {
      const int64_t number = counters_.decoded++;
      frame = converter.Convert(std::move(frame));
      tracker.Add(*frame);
      if (number < skip_) ++counters_.skipped;
      if (between_) frame->pts *= 2;  // in the encoder's time base
      const Timed waiting(waited);
      if (!HasPeople()) return Forward({number, std::move(frame), nullptr});
      const size_t bytes = FrameBytes(*frame);
      tracked_.Push({number, std::move(frame), nullptr}, bytes, stop());
    };
    while (std::optional<PacketPtr> packet = packets_.Pop(stop())) {
      const Timed timed(counters_.decode_ns);
      decoder.Decode(packet->get(), take);
    }
    if (stop().stop_requested()) return;
    {
      const Timed timed(counters_.decode_ns);
      decoder.Decode(nullptr, take);
    }
    counters_.decode_ns -= waited;
    counters_.damaged = decoder.damaged();
    counters_.retimed = decoder.retimed();
    (HasPeople() ? tracked_ : ToSteps()).Close();
  }

  bool HasPeople() const { return people_ < plan_.chain.size(); }
  ByteQueue<Numbered>& ToSteps() { return between_ ? decoded_ : frames_; }

  /// To the steps, unless the frame was done and nobody wants to see it.
  void Forward(Numbered item) {
    if (!between_ && item.number < skip_ && !scenes_.Wants(*item.frame)) return;
    const size_t bytes = FrameBytes(*item.frame);
    ToSteps().Push(std::move(item), bytes, stop());
  }

  /// Finds the people of all frames, also of those that were done: what is covered depends on them.
  void Track() {
    PeopleTracker tracker(plan_.first.full_range, plan_.first.turns);
    int64_t number = 0;
    std::atomic<int64_t> waited = 0;
    const auto give = [&](FramePtr frame) {
      const Timed waiting(waited);
      Forward({number++, std::move(frame), nullptr});
    };
    while (std::optional<Numbered> item = tracked_.Pop(stop())) {
      const Timed timed(counters_.step_ns[people_]);
      tracker.Add(std::move(item->frame), give);
    }
    if (stop().stop_requested()) return;
    {
      const Timed timed(counters_.step_ns[people_]);
      tracker.Finish(give);
    }
    counters_.step_ns[people_] -= waited;
    counters_.with_people = tracker.frames_with_people();
    counters_.held = tracker.frames_held();
    ToSteps().Close();
  }

  /// The steps before the one between frames.
  void Prepare() {
    WorkerChain chain(before_, plan_.first, counters_.step_ns);
    while (std::optional<Numbered> item = decoded_.Pop(stop())) {
      // Of a pair that was done, neither is needed.
      const bool done = 2 * item->number + 1 < skip_ && !scenes_.Wants(*item->frame);
      Chain& steps = chain.By(schedule_.Take(item->number));
      FramePtr frame = done ? std::move(item->frame) : steps.Apply(std::move(item->frame));
      const size_t bytes = FrameBytes(*frame);
      if (prepared_.Push(item->number, std::move(frame), bytes, stop()) != Pushed::kOk) return;
    }
    prepared_.Done();
  }

  /// Each frame with the next one, at half of its time.
  void Pair() {
    Numbered last;
    const auto push = [&](Numbered item) {
      const size_t bytes = FrameBytes(*item.frame);
      frames_.Push(std::move(item), bytes, stop());
    };
    while (std::optional<FramePtr> frame = prepared_.Pop(stop())) {
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
    frames_.Close();
  }

  void Enhance() {
    const size_t first = between_ ? before_.size() + 1 : 0;
    WorkerChain chain(after_, SetupAfter(before_, plan_.first),
                      std::span(counters_.step_ns).subspan(first));
    Between between;
    while (std::optional<Numbered> item = frames_.Pop(stop())) {
      const int64_t number = between_ ? 2 * item->number : item->number;
      Chain& steps = chain.By(schedule_.Take(item->number));
      FramePtr made;
      if (item->next != nullptr && number + 1 >= skip_) {
        const Timed timed(counters_.step_ns[first - 1]);
        made = MakeBetween(between, *item->frame, *item->next);
      }
      const FramePtr before(scenes_.Wants(*item->frame) ? av_frame_clone(item->frame.get())
                                                        : nullptr);
      // Frames that were done before are here to be shown, or for the sake of the next one.
      if (number >= skip_ || before != nullptr) {
        FramePtr frame = steps.Apply(std::move(item->frame));
        if (before != nullptr) scenes_.Compare(*before, *frame);
        if (!Put(number, std::move(frame))) return;
      }
      if (made != nullptr && !Put(number + 1, steps.Apply(std::move(made)))) return;
    }
    results_.Done();
  }

  FramePtr MakeBetween(Between& between, const AVFrame& frame, const AVFrame& next) {
    FramePtr made = between.Make(frame, next);
    made->pts = frame.pts + DurationOf(frame);
    SetDuration(*made, next.pts - made->pts);
    ClearKey(*made);
    AttachBoth(*made, frame, next);
    ForgetFinds(*made);
    counters_.moved += between.kind() == PairKind::kMoved;
    counters_.cuts += between.kind() == PairKind::kCut;
    counters_.repeated += between.kind() == PairKind::kRepeated;
    return made;
  }

  /// False where the job ends.
  bool Put(int64_t number, FramePtr frame) {
    if (number < skip_) return true;
    const size_t bytes = FrameBytes(*frame);
    return results_.Push(number, std::move(frame), bytes, stop()) == Pushed::kOk;
  }

  void Encode() {
    Converter converter(plan_.encoder.format, plan_.encoder.width, plan_.encoder.height);
    std::string last;
    auto begin = std::chrono::steady_clock::now();  // of a segment
    while (std::optional<FramePtr> frame = results_.Pop(stop())) {
      const Timed timed(counters_.encode_ns);
      const bool key = IsKey(**frame);
      scenes_.Add(**frame);
      const int64_t number = skip_ + counters_.encoded;
      const std::string network = schedule_.NetworkOf(between_ ? number / 2 : number);
      const int64_t closed = sink_.Add(converter.Convert(std::move(*frame)), key, network);
      const auto now = std::chrono::steady_clock::now();
      if (closed > 0) Judge(last, closed, std::chrono::duration<double>(now - begin).count());
      if (closed > 0 || counters_.encoded == 0) begin = now;
      last = network;
      ++counters_.encoded;
    }
    if (!stop().stop_requested()) sink_.Finish();
  }

  /// After a segment: another network for the frames that nobody has begun, where the rate asks for
  /// it.
  void Judge(const std::string& network, int64_t frames, double seconds) {
    if (network != schedule_.latest()) return;  // decided, but not yet in effect
    const std::string next = plan_.pace.After(network, frames, seconds);
    if (next == network) return;
    const int64_t first = schedule_.Change(next);
    counters_.changes.push_back(
        {between_ ? 2 * first : first, next,
         fmt::format("{} did {:.1f} frames a second, {:.4g} are wanted", network,
                     static_cast<double>(frames) / seconds, plan_.pace.wanted)});
  }

  const Plan& plan_;
  const int64_t skip_;
  Schedule schedule_;
  FrameSink& sink_;
  Counters& counters_;
  SceneLog& scenes_;
  Input input_;
  FirstError error_;
  const std::vector<ChainLink> before_, after_;  // the step between frames
  const bool between_;
  const size_t people_;  // the first step that is told of people; beyond the chain: none is
  ByteQueue<PacketPtr> packets_{kPacketBytes};
  ByteQueue<Numbered> frames_{kFrameBytes};
  ByteQueue<Numbered> tracked_{kFrameBytes};  // on the way there, where people are looked for
  // Where there is one between frames, on the way to `frames_`.
  ByteQueue<Numbered> decoded_{kFrameBytes};
  OrderedQueue<FramePtr> prepared_;
  OrderedQueue<FramePtr> results_;
};

}  // namespace

bool RunPipeline(const Plan& plan, int64_t skip, const std::string& network, FrameSink& sink,
                 Counters& counters, SceneLog& scenes, std::stop_token stop) {
  Pipeline(plan, skip, network, sink, counters, scenes).Run(stop);
  return !stop.stop_requested();
}

}  // namespace fettle::enhance
