// One input from plan to finished output.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "job/plan.h"
#include "job/scene_log.h"

namespace fettle::enhance {

struct StepTime {
  std::string step;
  double ms = 0;     // for each frame, of the thread that did it
  std::string gain;  // where one was measured
};

struct JobResult {
  int64_t frames_in = 0, frames_out = 0;
  int64_t resumed = 0;  // of frames_out, by earlier runs
  int64_t damaged = 0;
  int64_t alerts = 0;  // where the chain has the step
  int width = 0, height = 0;
  double seconds = 0;
  std::vector<StepTime> times;
  std::vector<SceneRecord> scenes;
  std::vector<std::string> warnings;
  std::vector<std::string> losses;  // all that is not kept, as the whole output shows
};

/// Told now and then how many frames are done, how many of them earlier runs did, and what the
/// scenes cost.
using ShowProgress = std::function<void(int64_t done, int64_t resumed, const SceneLog& scenes)>;

/// Throws Failure: kExitFailed where it was stopped, and what is done is kept. The output is there
/// whole or not at all.
JobResult RunVideo(const Plan& plan, bool restart, const ShowProgress& show, std::stop_token stop);
JobResult RunPicture(const Plan& plan);
/// Decodes all frames for the alert step's sake; where the plan wants its file alone.
JobResult RunAlerts(const Plan& plan, const ShowProgress& show, std::stop_token stop);

}  // namespace fettle::enhance
