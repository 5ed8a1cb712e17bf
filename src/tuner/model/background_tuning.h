// Tunes a session while it serves, in idle time or for a share of the time, and swaps in the plan
// that it finds.
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
  /// Seconds of work, without waiting; 0: until the search ends.
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

/// Tunes for the inputs that are observed first. The plan that is found must beat the default plan
/// as in TuneModel, and the session's plan if that is another one. It must also give the results of
/// the session's plan on the inputs that were observed last. Other shapes keep their plans. Before
/// the swap it is prepared for all shapes that the session was prepared for.
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
  /// The result of the tuning; fails where the tuning does.
  Status Tune();
  Status ForceSwaps(const runtime::TensorMap& inputs);
  Result<TuneModelResult> Measure(const runtime::TensorMap& inputs);
  TuneModelOptions TuningOptions();
  /// Whether the session's plan differs from the default one and is faster.
  Result<bool> IsSlowerThanBefore(runtime::Session& before, runtime::Session& after,
                                  const runtime::TensorMap& inputs);
  Status Verify(TuneModelResult& result);
  /// A session on `plans`, prepared for all shapes that were seen, and its outputs.
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
