// Why the steps of a plan are what they are: what else there was, and what was measured of it.
#pragma once

#include <cstdint>
#include <vector>

#include "model_report/planned_segments.h"
#include "planner/explain.h"
#include "report/report.h"
#include "runtime/session.h"
#include "tuner/store/database.h"

namespace fettle::tools {

/// The steps of one plan with their groups' catalogue. The segment outlives it.
class PlanReasons {
 public:
  /// Fails as planner::ListCatalogue does.
  static Result<PlanReasons> Create(const PlannedSegments::Segment& segment,
                                    const DeviceSet& devices, const planner::Limits& limits);

  /// By step: the entry of its group's kind that runs, and its instance; -1 for conversions, and
  /// for groups that the catalogue of today does not have.
  struct Place {
    int instance = -1, entry = -1;
  };
  const std::vector<Place>& places() const { return places_; }
  const planner::Catalogue& catalogue() const { return catalogue_; }

  /// One object per step: {runner_up, runner_up_ms, ...} by what `store` knows; null where the
  /// place is -1. `reasons` gets each (kernel, reason) once, which "rejected" points into.
  Json Explain(const DeviceSet& devices, const planner::Limits& limits, tuner::Store& store,
               Json& reasons) const;

 private:
  explicit PlanReasons(const PlannedSegments::Segment& segment) : segment_(&segment) {}
  void FindPlaces();

  const PlannedSegments::Segment* segment_;
  planner::Catalogue catalogue_;
  std::vector<Place> places_;
};

/// {rows, points[] {evaluations, ms}, operators, unmeasured}: the sum of the fastest kernels found
/// for the plans' groups, over what `database` has measured of them, in order. Groups count with
/// their first time before they have one; conversions are left out. Null where it measured none.
Result<Json> TuningHistory(const std::vector<PlanReasons>& plans, const DeviceSet& devices,
                           tuner::Database& database);

}  // namespace fettle::tools
