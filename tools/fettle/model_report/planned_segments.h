// The plans of a session as they were made, with the segments that they are for.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "planner/plan_source.h"

namespace fettle::tools {

/// Passes on the plans of another source and keeps them. Thread-safe, but for segments().
class PlannedSegments final : public planner::PlanSource {
 public:
  struct Segment {
    ir::Graph graph;
    exec::Plan plan;
  };

  explicit PlannedSegments(std::shared_ptr<planner::PlanSource> plans) : plans_(std::move(plans)) {}

  Result<exec::Plan> PlanFor(const ir::Graph& graph, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    ASSIGN_OR_RETURN(exec::Plan plan, plans_->PlanFor(graph, devices, limits));
    const std::lock_guard lock(mutex_);
    segments_.push_back({graph, plan});
    return plan;
  }

  /// In the order in which they were planned. While nothing is planned any more.
  const std::deque<Segment>& segments() const { return segments_; }

 private:
  std::shared_ptr<planner::PlanSource> plans_;
  std::mutex mutex_;
  std::deque<Segment> segments_;
};

}  // namespace fettle::tools
