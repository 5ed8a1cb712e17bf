// What is decided of a live stream before its first frame.
#pragma once

#include "av/encoder.h"
#include "live/ladder.h"
#include "live/live.h"
#include "live/source.h"

namespace fettle::enhance {

struct LivePlan {
  std::vector<ChainLink> chain;
  StepSetup first;
  LadderResult result;
  EncoderSetup encoder;
  const AVOutputFormat* container = nullptr;
  int threads = 1;
  double bound = 0;        // milliseconds; 0: every frame by all steps
  double shown_bound = 0;  // the same, of what is late
};

/// Throws Failure (kExitUsage, kExitUnsupported) where an option is not for streams.
void CheckLiveOptions(const JobOptions& job);
/// Throws Failure (kExitUnsupported) where a step looks at later frames.
void CheckLiveSteps(const std::vector<ChainLink>& chain);
LivePlan PlanLive(const JobOptions& job, const LiveOptions& live, const LiveSource& source);
/// The rungs with their costs; without --network the widest network that keeps up is the first
/// one's.
std::vector<Rung> PlanRungs(const JobOptions& job, const LivePlan& plan);

}  // namespace fettle::enhance
