#include "model_report/step_facts.h"

#include "report/profile_table.h"

namespace fettle::tools {
namespace {

/// The steps that write what `step` reads, by plan; -1 of `writers`: no step does.
Json SourcesOf(const exec::Plan& plan, const exec::PlannedStep& step,
               const std::vector<int>& writers, int first) {
  Json from = Json::array();
  for (int tensor : step.inputs) {
    while (writers[static_cast<size_t>(tensor)] < 0 &&
           plan.tensors[static_cast<size_t>(tensor)].same_bytes_as >= 0)
      tensor = plan.tensors[static_cast<size_t>(tensor)].same_bytes_as;
    const int writer = writers[static_cast<size_t>(tensor)];
    if (writer >= 0) from.push_back(first + writer);
  }
  return from;
}

/// Adds "shape" and "from" to the objects of one segment's steps, which begin at `first`.
void AddPlan(const exec::Plan& plan, int first, Json& all) {
  std::vector<int> writers(plan.tensors.size(), -1);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const exec::PlannedStep& step = plan.steps[i];
    Json& json = all[static_cast<size_t>(first) + i];
    json["from"] = SourcesOf(plan, step, writers, first);
    if (!step.outputs.empty())
      json["shape"] = ShapeJson(plan.tensors[static_cast<size_t>(step.outputs[0])].shape);
    for (int tensor : step.outputs) writers[static_cast<size_t>(tensor)] = static_cast<int>(i);
  }
}

}  // namespace

bool AreStepsOfSegments(const std::vector<exec::StepProfile>& steps,
                        const std::deque<PlannedSegments::Segment>& segments) {
  size_t at = 0;
  for (const PlannedSegments::Segment& segment : segments) {
    for (const exec::PlannedStep& step : segment.plan.steps) {
      if (at == steps.size()) return false;
      if (step.kernel != nullptr && steps[at].kernel != step.kernel->name) return false;
      ++at;
    }
  }
  return at == steps.size();
}

Json StepsJson(const std::vector<exec::StepProfile>& steps,
               const std::deque<PlannedSegments::Segment>& segments, Roofline& roofline) {
  Json all = Json::array();
  for (const exec::StepProfile& step : steps) {
    all.push_back(StepJson(step, roofline));
    all.back()["ceiling"] = step.work.ceiling;
    all.back()["shape"] = Json::array();
    all.back()["from"] = Json::array();
  }
  if (!AreStepsOfSegments(steps, segments)) return all;
  int first = 0;
  for (const PlannedSegments::Segment& segment : segments) {
    AddPlan(segment.plan, first, all);
    first += static_cast<int>(segment.plan.steps.size());
  }
  return all;
}

}  // namespace fettle::tools
