// What the stages of a run share, and the stages: each the body of one thread or of several, which
// ends when the queue before it does, or on a stop.
#pragma once

#include <optional>
#include <span>

#include "basics/queue.h"
#include "pipeline/pipeline.h"

namespace fettle::enhance {

/// A frame of the input, and the one after it where one is made between them.
struct Numbered {
  int64_t number = 0;
  FramePtr frame, next;
};

/// The way of frames: packets → (tracked →) (decoded → prepared →) frames → results. Those in
/// brackets are there where people are looked for, and where a frame is made between each two.
struct StageState {
  StageState(const Plan& plan, int64_t skip, const std::string& network, FrameSink& sink,
             Counters& counters, SceneLog& scenes);

  std::stop_token stop() { return error.stop().get_token(); }
  bool HasPeople() const { return people < plan.chain.size(); }
  ByteQueue<Numbered>& ToSteps() { return between ? decoded : frames; }
  /// To the steps, unless the frame was done and nobody wants to see it.
  void Forward(Numbered item);

  const Plan& plan;
  const int64_t skip;  // frames of the result that were done before
  Schedule schedule;
  FrameSink& sink;
  Counters& counters;
  SceneLog& scenes;
  Input input;
  FirstError error;
  const std::vector<ChainLink> before, after;  // the step between frames
  const bool between;
  const size_t people;  // the first step that is told of people; beyond the chain: none is
  ByteQueue<PacketPtr> packets;
  ByteQueue<Numbered> tracked, decoded, frames;
  OrderedQueue<FramePtr> prepared, results;
};

/// One worker's chain, made again where the network is another.
class WorkerChain {
 public:
  WorkerChain(const std::vector<ChainLink>& links, StepSetup first,
              std::span<std::atomic<int64_t>> nanoseconds)
      : links_(links), first_(std::move(first)), nanoseconds_(nanoseconds) {
    first_.whole_frames = true;
  }
  Chain& By(const std::string& network);

 private:
  const std::vector<ChainLink>& links_;
  StepSetup first_;
  std::span<std::atomic<int64_t>> nanoseconds_;
  std::optional<Chain> chain_;
};

void Demux(StageState& state);
void Decode(StageState& state);
/// Finds the people of all frames, also of those that were done: what is covered depends on them.
void Track(StageState& state);
/// The steps before the one between frames; one of several workers.
void Prepare(StageState& state);
/// Each frame with the next one, at half of its time.
void Pair(StageState& state);
/// The steps, or those from the one between frames on; one of several workers.
void Enhance(StageState& state);
void Encode(StageState& state);

}  // namespace fettle::enhance
