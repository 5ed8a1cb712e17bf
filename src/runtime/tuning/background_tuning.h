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
#include "runtime/tuning/background_pace.h"
#include "runtime/tuning/background_plans.h"
#include "runtime/tuning/tune_model.h"

namespace fettle::runtime {

struct BackgroundOptions {
  tuner::Level level = tuner::Level::kNormal;
  /// Of work, without what it waits; 0: until the search is at its end.
  double seconds = 0;
  /// Of one core; 0: only while no request of the process runs.
  double share = 0;
  /// Where measurements are kept, and the plan once it was verified.
  std::shared_ptr<tuner::Store> store = tuner::MemoryStore();
  /// For tests: hands over so many sessions, each on another plan than the one before.
  int forced_swaps = 0;
  /// For tests: takes what was found for faster, whatever the comparison says.
  bool takes_any = false;
  /// For tests: called with what the plan that was found computes, before it is verified.
  std::function<void(TensorMap&)> spoils = nullptr;
};

/// Tunes for the inputs that are observed first. The plan that is found has to beat the default one
/// as TuneModel has it, and that of the session where it is another, and gives what the session's
/// plan gives on the inputs that were observed last. Other shapes keep their plans; what they were
/// prepared for is prepared before the swap.
class BackgroundTuning final : public BackgroundWork {
 public:
  /// `session`: the options of the session that serves.
  BackgroundTuning(std::shared_ptr<const Model> model, SessionOptions session,
                   BackgroundOptions options);
  ~BackgroundTuning() override;

  void Observe(const BufferMap& inputs) override;
  bool Exchange(std::shared_ptr<Session>& session, SessionOptions& options) override;
  void Cancel() override;
  bool Await(double seconds) override;
  BackgroundState state() const override;

 private:
  using Stage = BackgroundState::Stage;
  using Shapes = std::map<std::string, Shape>;

  void Work();
  /// What it comes to; fails where the tuning does.
  Status Tune();
  Status ForceSwaps(const TensorMap& inputs);
  Result<TuneModelResult> Measure(const TensorMap& inputs);
  TuneModelOptions TuningOptions();
  /// Whether the session's plan is another than the default one, and faster.
  Result<bool> IsSlowerThanBefore(Session& before, Session& after, const TensorMap& inputs);
  Status Verify(TuneModelResult& result);
  /// A session on `plans`, prepared for all shapes that were seen, and what it gives.
  Result<std::shared_ptr<Session>> NewSession(const SessionOptions& options,
                                              const TensorMap& inputs, TensorMap* outputs);
  /// Until somebody has taken it; false: cancelled.
  bool HandOver(std::shared_ptr<Session> session, SessionOptions options);

  /// The inputs that were observed last; none: cancelled.
  std::optional<TensorMap> AwaitInputs();
  void Set(Stage stage, std::string reason = "");

  const std::shared_ptr<const Model> model_;
  const SessionOptions before_;
  const BackgroundOptions options_;
  HeldDecisions store_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> observes_ = true;
  BackgroundPace pace_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  BackgroundState state_;
  TensorMap inputs_;         // observed last
  int64_t observed_ns_ = 0;  // when they were
  std::vector<Shapes> seen_;
  std::shared_ptr<Session> next_;  // to be taken, then the one that it replaced
  SessionOptions next_options_;
  bool is_offered_ = false;
  std::atomic<bool> has_offer_ = false;
  std::thread thread_;
};

}  // namespace fettle::runtime
