// Chooses chains of launches for the plan that won.
#pragma once

#include <memory>
#include <vector>

#include "tuner/model/tuning_task.h"

namespace fettle::tuner {

/// OK, or why no chain is tried.
Status MayTryChains(const TuneModelOptions& options);

/// `options`, with a deadline that leaves chains their share of the time since `start_ns`.
TuneModelOptions WithTimeForChains(const TuneModelOptions& options, int64_t start_ns);

/// Makes a plan launch steps together where that is faster, as the store knows or runs show. Keeps
/// the results in the store. Used once; `task` must outlive it. Not synchronised.
class ChainChoice {
 public:
  explicit ChainChoice(const TuningTask& task) : task_(task) {}

  /// For the plan of `segment`, the only one, on the devices and threads of `tuned`. A plan on
  /// which chains fail has none. Fails where the caller ends it.
  Status Choose(const runtime::Session& tuned, TunedSegment& segment);

  /// What was tried, for the plan that it was chosen for.
  const std::vector<TriedChain>& tried() const { return tried_; }
  /// On the plan with its chains; null: it has none.
  const std::shared_ptr<runtime::Session>& session() const { return session_; }

 private:
  Result<std::shared_ptr<runtime::Session>> NewSession(const TunedSegment& segment,
                                                       const std::vector<exec::StepChain>& chains,
                                                       bool waits_for_steps) const;
  /// Takes over the result of an earlier search.
  Status Take(TunedSegment& segment, std::vector<TriedChain> kept);
  Status Search(const runtime::Session& tuned, TunedSegment& segment);

  const TuningTask& task_;
  std::vector<TriedChain> tried_;
  std::shared_ptr<runtime::Session> session_;
  bool is_complete_ = false;  // the search came to its end
};

}  // namespace fettle::tuner
