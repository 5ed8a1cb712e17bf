// A recorded space in the place of a device: searches run on it as fast as they can think.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "io/tuning_json.h"
#include "tuner/search/space.h"

namespace fettle::tools {

/// Immutable; the space it hands out keeps what it needs alive.
class Replay {
 public:
  /// The space is what was recorded: numbers in ascending order, texts as they come.
  static Result<Replay> Create(const Recording& recording);
  /// The space is what `spec` allows and `recording` has. Recorded parameters that are not in the
  /// spec must have one value. Fails with kInvalidArgument where nothing is left.
  static Result<Replay> Create(const Recording& recording, const KernelSpec& spec);

  const tuner::SearchSpace& space() const { return space_; }
  /// The recorded time of a valid point; none where the configuration failed.
  std::optional<double> Measure(const tuner::Point& point) const;
  /// The best of all valid points.
  double best_ms() const { return best_ms_; }
  const tuner::Point& best() const { return best_; }
  /// Valid points, failed ones included.
  size_t size() const { return size_; }

 private:
  using Times = std::unordered_map<uint64_t, std::optional<double>>;
  explicit Replay(tuner::SearchSpace space) : space_(std::move(space)) {}

  tuner::SearchSpace space_;
  std::shared_ptr<Times> times_;
  tuner::Point best_;
  double best_ms_ = 0;
  size_t size_ = 0;
};

}  // namespace fettle::tools
