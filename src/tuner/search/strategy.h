// What proposes the next configuration to measure.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tuner/search/history.h"

namespace fettle::tuner {

/// Deterministic: what it asks for depends on its seed and on what the history held at each Ask.
/// Belongs to one thread.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// A valid point, which may be one that the history has (a walk may pass there again); none where
  /// it has nothing left to propose.
  virtual std::optional<Point> Ask() = 0;
  /// The outcome of the point asked last. It is in the history by then.
  virtual void Tell(const Evaluation& evaluation) { (void)evaluation; }
};

/// What a strategy is made from. The history may hold seeds (known good configurations, measured
/// here) when the first Ask comes, and must outlive the strategy.
struct StrategyInput {
  const History* history = nullptr;
  uint64_t seed = 0;
};

struct StrategyRow {
  std::string_view name;
  std::string_view does;
  std::unique_ptr<Strategy> (*make)(const StrategyInput& input);
};

/// "local" first, which is the default.
std::span<const StrategyRow> Strategies();
/// All names: "local|portfolio|...".
std::string StrategyNames();
/// Null where there is none of that name.
const StrategyRow* FindStrategy(std::string_view name);

}  // namespace fettle::tuner
