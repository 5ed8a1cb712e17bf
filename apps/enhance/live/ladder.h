// A chain of steps, and the shorter chains to use when time runs short.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "av/pixels.h"
#include "steps/step.h"

namespace fettle::enhance {

/// Some of the steps; all results of a ladder have one size and format.
struct Rung {
  std::vector<ChainLink> links;
  std::string network;
  std::string text;  // "superres by fast", "Lanczos alone"
  double ms = 0;     // of one thread, on a machine with nothing else to do
};

/// What a frame of `first` becomes.
struct LadderResult {
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int width = 0, height = 0;
};

/// The chain by `network`, then by `fast`, then without its costly steps, which are by networks,
/// then without any. What size is missing is made by Lanczos. Without costs.
std::vector<Rung> RungsOf(const std::vector<ChainLink>& chain, const std::string& network);

/// One worker's steps of each rung, made when they are first wanted.
class RungChains {
 public:
  RungChains(const std::vector<Rung>& rungs, const StepSetup& first, const LadderResult& result);
  ~RungChains();
  FramePtr Apply(size_t rung, FramePtr frame);

 private:
  struct Made;
  const std::vector<Rung>& rungs_;
  const StepSetup first_;
  std::vector<std::unique_ptr<Made>> made_;
  Converter converter_;
};

/// Fills each rung's cost, as one thread of `chains` does it on grey frames.
void MeasureRungs(std::vector<Rung>& rungs, const StepSetup& first, RungChains& chains);

/// Chooses a rung for each frame, so that it is done in time. Thread-safe.
class Ladder {
 public:
  using Clock = std::chrono::steady_clock;
  /// `bound` milliseconds from the arrival on, 0: every frame by all steps; `interval` from frame
  /// to frame, 0: unknown. `rungs` must live as long.
  Ladder(const std::vector<Rung>& rungs, double bound, double interval, int workers);
  size_t Choose(Clock::time_point arrived);
  /// A rung took so many milliseconds of one worker.
  void Took(size_t rung, double ms);
  /// What comes after the steps, for each frame.
  void TookAfter(double ms);

 private:
  bool Fits(size_t rung, double waited) const;

  const std::vector<Rung>& rungs_;
  const double bound_, interval_;
  const int workers_;
  std::mutex mutex_;
  double load_ = 1;   // times that steps take longer than when they were measured
  double after_ = 0;  // milliseconds
  size_t floor_ = 0;  // the best rung that is tried
  /// When the floor changed last, and how long nothing better is tried from then on: longer each
  /// time that a better rung did not last.
  Clock::time_point changed_;
  std::chrono::seconds patience_{1};
};

}  // namespace fettle::enhance
