// The handle of a tuner for code of the caller's own, and what its calls do with the search.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capi/structs.h"
#include "tuner/search/remembered_search.h"

struct fettle_tuner {
  std::string name, database, version;
  std::vector<fettle::tuner::Parameter> parameters;
  std::vector<std::string> conditions;
  fettle_tuner_constraint constraint = nullptr;
  void* constraint_user = nullptr;
  std::vector<fettle::tuner::Point> known;
  fettle::tuner::SearchOptions options;
  bool endless = true;  // no budget and not all configurations in order

  std::optional<fettle::tuner::RememberedSearch> search;  // once it has begun
  bool asked = false;
  /// Guards all of the above; callbacks run without it, while `running` keeps others from the
  /// search.
  mutable std::mutex mutex;
  bool running = false;
  std::atomic<bool> cancelled = false;
};

namespace fettle::capi {

/// The tuner for one call, which holds its mutex.
class TunerTurn {
 public:
  explicit TunerTurn(const fettle_tuner& tuner) : lock_(tuner.mutex), tuner_(tuner) {}
  /// kBusy where the call changes a search that fettle_tuner_run is at.
  Status Change() const;
  /// Change, and kInvalidArgument once the search has begun.
  Status Describe() const;

 private:
  std::lock_guard<std::mutex> lock_;
  const fettle_tuner& tuner_;
};

/// kInvalidArgument unless `count` values are one per parameter.
Status CheckCount(const fettle_tuner& tuner, size_t count);

/// The values that a point of the tuner's space stands for, one per parameter.
void WriteValues(const fettle_tuner& tuner, const tuner::Point& point, int64_t* values);

/// `status`, naming the tuner.
Status OfTuner(const fettle_tuner& tuner, const Status& status);

/// Makes the search unless it has begun; in a turn.
Status BeginSearch(fettle_tuner& tuner);

/// In a turn.
fettle_tuner_state StateOf(const fettle_tuner& tuner);

/// Asks, evaluates and tells until the search is over, is cancelled (kCancelled) or cannot begin;
/// takes turns of its own, between which the callbacks run.
Status RunSearch(fettle_tuner& tuner, const fettle_tuner_callbacks& callbacks);

}  // namespace fettle::capi
