#include "tuner/model/chain_choice.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/segment_plans.h"
#include "tuner/model/timetable.h"

namespace fettle::tuner {
namespace {

/// Of one comparison, and of all: programs of chains take compilers a second to twelve each.
constexpr double kGateSeconds = 1, kAllSeconds = 60;
/// Of a budget.
constexpr double kShare = 0.3;

}  // namespace

Status MayTryChains(const TuneModelOptions& options) {
  if (!options.tries_chains || options.tune.level == Level::kNone ||
      options.session.accelerators.size() != 1)
    return Unsupported("chains of launches are switched off");
  return options.session.accelerators[0]->ChainsMayPay();
}

TuneModelOptions WithTimeForChains(const TuneModelOptions& options, int64_t start_ns) {
  TuneModelOptions shorter = options;
  if (options.deadline_ns > 0 && MayTryChains(options).ok())
    shorter.deadline_ns -=
        static_cast<int64_t>(kShare * static_cast<double>(options.deadline_ns - start_ns));
  return shorter;
}

Status ChainChoice::Choose(const runtime::Session& tuned, TunedSegment& segment) {
  segment.decision.chains.clear();
  const std::string plan = PlanText(segment);
  auto kept = FindChains(segment.key, plan, task_.store);
  const Status status = kept.ok() ? Take(segment, std::move(*kept)) : Search(tuned, segment);
  if (task_.IsCancelled()) return status;
  if (!status.ok()) {
    segment.decision.chains.clear();
    session_.reset();
    Log(LogLevel::kInfo, "chains of launches: {}", status.message());
  } else if (!kept.ok() && is_complete_) {
    KeepChains(segment.key, segment.decision, plan, tried_, task_.store);
  }
  return OkStatus();
}

Result<std::shared_ptr<runtime::Session>> ChainChoice::NewSession(
    const TunedSegment& segment, const std::vector<exec::StepChain>& chains,
    bool waits_for_steps) const {
  planner::Decision decision = segment.decision;
  decision.chains = chains;
  auto book = std::make_shared<planner::PlanBook>();
  book->Put({segment.key, planner::PrintDecision(*segment.graph, decision)});
  runtime::SessionOptions options = task_.options.session;
  options.plans = planner::PlansOf(book);
  options.judges_first_run = options.adapts_lanes = false;
  options.waits_for_steps = waits_for_steps;
  ASSIGN_OR_RETURN(auto session, runtime::Session::Create(task_.model, std::move(options)));
  return std::shared_ptr<runtime::Session>(std::move(session));
}

Status ChainChoice::Take(TunedSegment& segment, std::vector<TriedChain> kept) {
  tried_ = std::move(kept);
  for (const TriedChain& tried : tried_)
    if (tried.kept) segment.decision.chains.push_back(tried.chain);
  if (segment.decision.chains.empty()) return OkStatus();
  std::ranges::sort(segment.decision.chains, {}, &exec::StepChain::begin);
  ASSIGN_OR_RETURN(session_, NewSession(segment, segment.decision.chains, false));
  runtime::TensorMap outputs;
  return session_->Run(task_.inputs, &outputs);
}

Status ChainChoice::Search(const runtime::Session& tuned, TunedSegment& segment) {
  const TuneModelOptions& options = task_.options;
  ASSIGN_OR_RETURN(const exec::Plan plan, planner::Apply(*segment.graph, segment.decision,
                                                         tuned.devices(), tuned.limits().threads));
  ASSIGN_OR_RETURN(const std::shared_ptr<runtime::Session> without, NewSession(segment, {}, false));
  GateOptions gate = options.gate;
  gate.seconds = std::min(gate.seconds, kGateSeconds);
  int64_t until_ns = NowNs() + static_cast<int64_t>(kAllSeconds * 1e9);
  if (options.deadline_ns > 0) {
    const double left = Seconds(options.deadline_ns - options.Now());
    const double free = left - Timetable::WriteSeconds(options, *task_.model, left);
    until_ns = std::min(until_ns, NowNs() + static_cast<int64_t>(free * 1e9));
  }
  ChainSearch search(
      plan, task_.inputs,
      [&](const auto& chains, bool waits) { return NewSession(segment, chains, waits); }, gate,
      until_ns);
  RETURN_IF_ERROR(search.Run(without));
  is_complete_ = !search.ran_out();
  tried_ = search.tried();
  segment.decision.chains = search.chains();
  if (!search.chains().empty()) session_ = search.session();
  return OkStatus();
}

}  // namespace fettle::tuner
