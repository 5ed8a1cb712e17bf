// The stages between a file and its frames' way into segments, a thread or several for each.
#pragma once

#include <atomic>
#include <vector>

#include "job/pace.h"
#include "job/plan.h"
#include "job/scene_log.h"
#include "job/segments.h"

namespace fettle::enhance {

/// From a frame of the result on another network did the work.
struct NetworkChange {
  int64_t frame = 0;
  std::string network, reason;
};

/// What a run did; read by other threads while it works, but for `changes`.
struct Counters {
  explicit Counters(size_t steps) : step_ns(steps) {}
  std::atomic<int64_t> decoded = 0, encoded = 0, skipped = 0, damaged = 0, retimed = 0;
  std::atomic<int64_t> moved = 0, cuts = 0, repeated = 0;  // pairs of frames
  std::atomic<int64_t> with_people = 0, held = 0;          // frames, where people are looked for
  std::atomic<int64_t> decode_ns = 0, encode_ns = 0;
  std::vector<std::atomic<int64_t>> step_ns;
  std::vector<NetworkChange> changes;
};

/// Reads the plan's input, decodes all frames, gives those from `skip` on to the steps, by
/// `network` until the plan's pace asks for another one, and their results in order to `sink`.
/// The first failure of any stage, or `stop`, ends all of them; the failure is thrown. Returns
/// false where it was stopped. No queue holds more than a few frames.
bool RunPipeline(const Plan& plan, int64_t skip, const std::string& network, FrameSink& sink,
                 Counters& counters, SceneLog& scenes, std::stop_token stop);

}  // namespace fettle::enhance
