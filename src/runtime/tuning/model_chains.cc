// Chains of launches for the plan that won.
#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/tuning/kept_plans.h"
#include "runtime/tuning/model_tuner.h"
#include "runtime/tuning/segment_plans.h"

namespace fettle::runtime {
namespace {

/// Of one comparison, and of all: programs of chains take compilers a second to twelve each.
constexpr double kGateSeconds = 1, kAllSeconds = 60;
/// Of a budget.
constexpr double kShare = 0.3;

}  // namespace

Status ModelTuner::MayTryChains() const {
  if (!options_.tries_chains || options_.tune.level == tuner::Level::kNone ||
      options_.session.accelerators.size() != 1)
    return Unsupported("chains of launches are not asked for");
  return options_.session.accelerators[0]->ChainsMayPay();
}

TuneModelOptions ModelTuner::WithTimeForChains() const {
  TuneModelOptions options = options_;
  if (options.deadline_ns > 0 && MayTryChains().ok())
    options.deadline_ns -=
        static_cast<int64_t>(kShare * static_cast<double>(options.deadline_ns - start_ns_));
  return options;
}

Status ModelTuner::ChooseChains() {
  if (result_.segments.size() != 1 || tuned_->devices().beside_cpu().size() != 1) return OkStatus();
  if (const Status may = MayTryChains(); !may.ok()) {
    result_.no_chains = may.message();
    return OkStatus();
  }
  TunedSegment& segment = result_.segments[0];
  segment.decision.chains.clear();
  const std::string plan = PlanText(segment);
  auto kept = FindChains(segment.key, plan, store_);
  const Status status = kept.ok() ? TakeChains(segment, std::move(*kept)) : SearchChains(segment);
  if (IsCancelled()) return status;
  if (!status.ok()) {
    segment.decision.chains.clear();
    chained_.reset();
    Log(LogLevel::kInfo, "chains of launches: {}", status.message());
  } else if (!kept.ok() && searched_chains_) {
    KeepChains(segment.key, segment.decision, plan, result_.chains, store_);
  }
  return OkStatus();
}

Result<std::shared_ptr<Session>> ModelTuner::NewChained(const TunedSegment& segment,
                                                        const std::vector<exec::StepChain>& chains,
                                                        bool waits_for_steps) {
  planner::Decision decision = segment.decision;
  decision.chains = chains;
  auto book = std::make_shared<planner::PlanBook>();
  book->Put({segment.key, planner::PrintDecision(*segment.graph, decision)});
  SessionOptions options = options_.session;
  options.plans = planner::PlansOf(book);
  options.judges_first_run = options.adapts_lanes = false;
  options.waits_for_steps = waits_for_steps;
  ASSIGN_OR_RETURN(auto session, Session::Create(model_, std::move(options)));
  return std::shared_ptr<Session>(std::move(session));
}

/// What an earlier search came to.
Status ModelTuner::TakeChains(TunedSegment& segment, std::vector<TriedChain> kept) {
  result_.chains = std::move(kept);
  for (const TriedChain& tried : result_.chains)
    if (tried.kept) segment.decision.chains.push_back(tried.chain);
  if (segment.decision.chains.empty()) return OkStatus();
  std::ranges::sort(segment.decision.chains, {}, &exec::StepChain::begin);
  ASSIGN_OR_RETURN(chained_, NewChained(segment, segment.decision.chains, false));
  TensorMap outputs;
  return chained_->Run(inputs_, &outputs);
}

Status ModelTuner::SearchChains(TunedSegment& segment) {
  ASSIGN_OR_RETURN(const exec::Plan plan,
                   planner::Apply(*segment.graph, segment.decision, tuned_->devices(),
                                  tuned_->limits().threads));
  ASSIGN_OR_RETURN(const std::shared_ptr<Session> without, NewChained(segment, {}, false));
  tuner::GateOptions gate = options_.gate;
  gate.seconds = std::min(gate.seconds, kGateSeconds);
  int64_t until_ns = NowNs() + static_cast<int64_t>(kAllSeconds * 1e9);
  if (options_.deadline_ns > 0) {
    const double left = Seconds(options_.deadline_ns - NowNs());
    const double free = left - Timetable::WriteSeconds(options_, *model_, left);
    until_ns = std::min(until_ns, NowNs() + static_cast<int64_t>(free * 1e9));
  }
  ChainSearch search(
      plan, inputs_,
      [&](const auto& chains, bool waits) { return NewChained(segment, chains, waits); }, gate,
      until_ns);
  RETURN_IF_ERROR(search.Run(without));
  searched_chains_ = !search.ran_out();
  result_.chains = search.tried();
  segment.decision.chains = search.chains();
  if (!search.chains().empty()) chained_ = search.session();
  return OkStatus();
}

}  // namespace fettle::runtime
