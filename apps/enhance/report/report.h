// What people and programs read of a job.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "job/job.h"

namespace fettle::enhance {

using Json = nlohmann::ordered_json;

/// What is decided, and with `explain` why.
std::string PlanText(const Plan& plan, bool explain);
Json PlanJson(const Plan& plan);
/// Step, ms for each frame; frames in and out; streams.
std::string ResultText(const Plan& plan, const JobResult& result);
Json ResultJson(const Plan& plan, const JobResult& result);

/// A line on stderr, only where that is a terminal that takes escape codes.
class ProgressLine {
 public:
  explicit ProgressLine(const Plan& plan);
  ~ProgressLine();
  void Show(int64_t done, int64_t resumed, const SceneLog& scenes);

 private:
  const Plan& plan_;
  const bool enabled_;
  const double start_;
  bool drawn_ = false;
};

}  // namespace fettle::enhance
