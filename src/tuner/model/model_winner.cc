// What becomes of the plan that won.
#include "planner/planner.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/model_tuner.h"
#include "tuner/model/segment_plans.h"
#include "tuner/model/tuning_plans.h"

namespace fettle::tuner {

Status ModelTuner::Keep(bool compared) {
  compared = compared && tune_.bounds.memory_limit < 0;
  RETURN_IF_ERROR(RepriceAll());
  const std::vector<TunedSegment> judged = result_.segments;
  if (!result_.gate.accepted) {
    for (TunedSegment& segment : result_.segments) {
      ASSIGN_OR_RETURN(segment.decision, Preferred(segment));
    }
    RETURN_IF_ERROR(RepriceAll());
  }
  if (compared) RETURN_IF_ERROR(ChooseChains());
  const bool single = result_.segments.size() == 1;
  for (size_t i = 0; i < judged.size(); ++i) {
    TunedSegment& segment = result_.segments[i];
    if (compared) KeepSearch(tune_, judged[i], task_.store);
    if (single) segment.decision.measured_us = result_.measured_us();
    const std::string text = planner::PrintDecision(*segment.graph, segment.decision);
    result_.book->Put({segment.key, text});
    if (compared) KeepLearned(segment.key, segment.decision, text, task_.store);
    if (compared && !result_.known)
      KeepVerdict(segment.key, judged[i].decision, PlanText(judged[i]), result_.gate, task_.store);
  }
  if (!result_.gate.accepted) {
    winner_ = std::move(default_);
  } else {
    winner_ = {.session = std::move(tuned_),
               .plans = tuned_plans_,
               .outputs = std::move(got_),
               .run = default_.run};
  }
  result_.session = chains_.session() != nullptr ? chains_.session() : winner_.session;
  return OkStatus();
}

Status ModelTuner::ChooseChains() {
  if (result_.segments.size() != 1 || tuned_->devices().beside_cpu().size() != 1) return OkStatus();
  if (const Status may = MayTryChains(task_.options); !may.ok()) {
    result_.no_chains = may.message();
    return OkStatus();
  }
  const Status status = chains_.Choose(*tuned_, result_.segments[0]);
  result_.chains = chains_.tried();
  return status;
}

Result<planner::Decision> ModelTuner::Preferred(const TunedSegment& segment) const {
  if (default_.plans != nullptr) {
    if (const auto place = default_.plans->LastPlace(segment.key.graph)) {
      if (place->limits.precision != task_.options.session.precision) {
        const Result<LearnedDecision> learned =
            FindLearned(*segment.graph, place->devices, place->limits, task_.store);
        if (learned.ok()) return learned->decision;
      }
      return planner::PreferredDecision(*segment.graph, place->devices, place->limits);
    }
  }
  if (result_.known) {
    const Result<LearnedDecision> learned =
        FindLearned(*segment.graph, tuned_->devices(), tuned_->limits(), task_.store);
    if (learned.ok()) return learned->decision;
  }
  return planner::PreferredDecision(*segment.graph, tuned_->devices(), tuned_->limits());
}

bool ModelTuner::FindVerdict() {
  for (const TunedSegment& segment : result_.segments) {
    const Result<GateResult> kept = tuner::FindVerdict(segment.key, PlanText(segment), task_.store);
    if (!kept.ok()) return false;
    result_.gate = *kept;
  }
  result_.known = !result_.segments.empty();
  return result_.known;
}

}  // namespace fettle::tuner
