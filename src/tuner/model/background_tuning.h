// Tuning a session while it serves: in idle time or for a share of the time, and a swap to the
// plan that was found.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/background_work.h"
#include "tuner/model/background_pace.h"
#include "tuner/model/background_plans.h"
#include "tuner/model/tune_model.h"

namespace fettle::tuner {

struct BackgroundOptions {
  Level level = Level::kNormal;
  /// Of work, without what it waits; 0: until the search is at its end.
  double seconds = 0;
  /// Of one core; 0: only while no request of the process runs.
  double share = 0;
  /// Where measurements are kept, and the plan once it was verified.
  std::shared_ptr<Store> store = tuner::MemoryStore();
  /// For tests: hands over so many sessions, each on another plan than the one before.
  int forced_swaps = 0;
  /// For tests: takes what was found for faster, whatever the comparison says.
  bool takes_any = false;
  /// For tests: called with what the plan that was found computes, before it is verified.
  std::function<void(runtime::TensorMap&)> spoils = nullptr;
};

/// Tunes for the inputs that are observed first. The plan that is found has to beat the default one
/// as TuneModel has it, and that of the session where it is another, and gives what the session's
/// plan gives on the inputs that were observed last. Other shapes keep their plans; what they were
/// prepared for is prepared before the swap.
class BackgroundTuning final : public runtime::BackgroundWork {
 public:
  /// `session`: the options of the session that serves.
  BackgroundTuning(std::shared_ptr<const runtime::Model> model, runtime::SessionOptions session,
                   BackgroundOptions options);
  ~BackgroundTuning() override;

  void Observe(const runtime::BufferMap& inputs) override;
  bool Exchange(std::shared_ptr<runtime::Session>& session,
                runtime::SessionOptions& options) override;
  void Cancel() override;
  bool Await(double seconds) override;
  runtime::BackgroundState state() const override;

 private:
  using Stage = runtime::BackgroundState::Stage;
  using Shapes = std::map<std::string, Shape>;

  void Work();
  /// What it comes to; fails where the tuning does.
  Status Tune();
  Status ForceSwaps(const runtime::TensorMap& inputs);
  Result<TuneModelResult> Measure(const runtime::TensorMap& inputs);
  TuneModelOptions TuningOptions();
  /// Whether the session's plan is another than the default one, and faster.
  Result<bool> IsSlowerThanBefore(runtime::Session& before, runtime::Session& after,
                                  const runtime::TensorMap& inputs);
  Status Verify(TuneModelResult& result);
  /// A session on `plans`, prepared for all shapes that were seen, and what it gives.
  Result<std::shared_ptr<runtime::Session>> NewSession(const runtime::SessionOptions& options,
                                                       const runtime::TensorMap& inputs,
                                                       runtime::TensorMap* outputs);
  /// Until somebody has taken it; false: cancelled.
  bool HandOver(std::shared_ptr<runtime::Session> session, runtime::SessionOptions options);

  /// The inputs that were observed last; none: cancelled.
  std::optional<runtime::TensorMap> AwaitInputs();
  void Set(Stage stage, std::string reason = "");

  const std::shared_ptr<const runtime::Model> model_;
  const runtime::SessionOptions before_;
  const BackgroundOptions options_;
  HeldDecisions store_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> observes_ = true;
  BackgroundPace pace_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  runtime::BackgroundState state_;
  runtime::TensorMap inputs_;  // observed last
  int64_t observed_ns_ = 0;    // when they were
  std::vector<Shapes> seen_;
  std::shared_ptr<runtime::Session> next_;  // to be taken, then the one that it replaced
  runtime::SessionOptions next_options_;
  bool is_offered_ = false;
  std::atomic<bool> has_offer_ = false;
  std::thread thread_;
};

}  // namespace fettle::tuner
