// What changes of threads gain, by what they gained elsewhere.
#include <algorithm>
#include <map>

#include "planner/assume.h"

namespace fettle::planner {
namespace {

/// Kinds of groups in which a change has to gain nothing, and what counts as nothing.
constexpr size_t kLeastKinds = 4;
constexpr double kNothing = 0.98;

using Prices = std::vector<std::vector<EntryCost>>;

class Changes {
 public:
  Changes(const Catalogue& catalogue, const Prices& prices) {
    for (size_t k = 0; k < catalogue.kinds.size(); ++k) Learn(catalogue.kinds[k], prices[k]);
  }

  /// Whether the change of `entry` may gain on a group that takes its base `base_us`.
  bool MayGain(const Entry& entry, double base_us) const {
    const auto found = tries_.find(entry.change);
    if (found == tries_.end()) return true;
    size_t kinds = 0;
    for (const Try& made : found->second) {
      if (made.base_us > base_us) continue;
      if (made.ratio < kNothing) return true;
      ++kinds;
    }
    return kinds < kLeastKinds;
  }

 private:
  /// The result of a change in one kind, in the states where it gained most.
  struct Try {
    double base_us = 0, ratio = 1e300;
  };

  void Learn(const Kind& kind, const std::vector<EntryCost>& prices) {
    std::map<std::string_view, Try> best;
    for (size_t e = 0; e < kind.entries.size(); ++e) {
      const Entry& entry = kind.entries[e];
      if (entry.base < 0 || prices[e].seen_us <= 0) continue;
      const EntryCost& base = prices[entry.base];
      if (base.seen_us <= 0) continue;
      Try& made = best[entry.change];
      made.ratio = std::min(made.ratio, prices[e].seen_us / base.seen_us);
      made.base_us = std::max(made.base_us, base.seen_us);
    }
    for (const auto& [change, made] : best) tries_[std::string(change)].push_back(made);
  }

  std::map<std::string, std::vector<Try>> tries_;
};

}  // namespace

void AssumeOfChanges(const Catalogue& catalogue, Prices& prices) {
  const Changes changes(catalogue, prices);
  for (size_t k = 0; k < catalogue.kinds.size(); ++k) {
    const std::vector<Entry>& entries = catalogue.kinds[k].entries;
    // Bases come first.
    for (size_t e = 0; e < entries.size(); ++e) {
      if (entries[e].base < 0 || prices[k][e].measured) continue;
      const EntryCost& base = prices[k][entries[e].base];
      if (base.seen_us <= 0 || changes.MayGain(entries[e], base.seen_us)) continue;
      prices[k][e].us = std::max(prices[k][e].us, kJustBehind * base.us);
    }
  }
}

}  // namespace fettle::planner
