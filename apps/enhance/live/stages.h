// What the stages of a live run share. Each stage is the body of one thread or of several.
#pragma once

#include <atomic>
#include <set>

#include "basics/queue.h"
#include "live/latency.h"
#include "live/live_plan.h"
#include "live/sink.h"

namespace fettle::enhance {

struct LiveFrame {
  int64_t number = 0;
  FramePtr frame;
  LiveClock::time_point arrived;
};

/// The way of frames: packets → frames → results, few at a time, as what waits is late.
struct LiveState {
  LiveState(LiveSource& source, const LivePlan& plan, const std::vector<Rung>& rungs,
            LiveSink& sink);
  std::stop_token stop() { return error.stop().get_token(); }
  /// Prints a warning and keeps it for the end; the same one only once, and no more than 20.
  void Warn(const std::string& sentence);

  LiveSource& source;
  const LivePlan& plan;
  const std::vector<Rung>& rungs;
  LiveSink& sink;
  FirstError error;
  Ladder ladder;
  ByteQueue<LivePacket> packets;
  ByteQueue<LivePacket> others;
  ByteQueue<LiveFrame> frames;
  OrderedQueue<LiveFrame> results;
  std::vector<std::atomic<int64_t>> by_rung;
  std::atomic<int64_t> decoded = 0, damaged = 0, retimed = 0;
  Latencies latencies;  // the writer's, and the others' when it has ended
  int64_t written = 0, late = 0;
  std::vector<std::string> warnings;
  std::set<std::string> said;
  std::mutex saying;
};

void ReadStream(LiveState& state, std::stop_token stop);
void DecodeStream(LiveState& state);
/// One of several workers.
void EnhanceStream(LiveState& state);
void WriteStream(LiveState& state);

}  // namespace fettle::enhance
