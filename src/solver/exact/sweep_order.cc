#include "solver/exact/sweep_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fettle::solver {
namespace {

/// Orders in which to take the variables: each begins somewhere and then takes the variable that
/// leaves the fewest combinations of live values.
class SweepOrderSearch {
 public:
  explicit SweepOrderSearch(const Network& network)
      : network_(network), factors_(FactorsByVariable(network)) {}

  std::vector<int> Run() {
    std::vector<int> best;
    double best_peak = 0;
    const int starts = std::min(4, network_.variables());
    for (int i = 0; i < starts; ++i) {
      const auto [order, peak] = RunFrom(i * (network_.variables() - 1) / std::max(1, starts - 1));
      if (!best.empty() && peak >= best_peak) continue;
      best = order;
      best_peak = peak;
    }
    return best;
  }

 private:
  /// The order and the sum of its combinations of live values.
  std::pair<std::vector<int>, double> RunFrom(int start) {
    const size_t variables = network_.variables();
    open_.assign(network_.factors.size(), 0);
    for (size_t f = 0; f < open_.size(); ++f) {
      open_[f] = static_cast<int>(network_.factors[f].scope.size());
    }
    done_.assign(variables, false);
    live_.assign(variables, false);
    waiting_.assign(variables, 0);
    for (size_t v = 0; v < variables; ++v) waiting_[v] = static_cast<int>(factors_[v].size());
    std::vector<int> order;
    double log_live = 0, peak = 0;
    for (int next = start; next >= 0; next = Next()) {
      log_live += Growth(next);
      Take(next);
      order.push_back(next);
      peak += std::exp2(std::min(log_live, 500.0));
    }
    return {order, peak};
  }

  double LogDomain(int v) const { return std::log2(network_.domain(v)); }

  /// Change of the logarithm of live combinations by taking `v`.
  double Growth(int v) {
    double growth = 0;
    bool stays = false;
    ends_.clear();
    for (const int f : factors_[v]) {
      if (open_[f] > 1) {
        stays = true;
        continue;
      }
      for (const int u : network_.factors[f].scope) {
        if (u != v) ends_.push_back(u);
      }
    }
    std::sort(ends_.begin(), ends_.end());
    for (size_t i = 0; i < ends_.size();) {
      size_t j = i;
      while (j < ends_.size() && ends_[j] == ends_[i]) ++j;
      if (static_cast<int>(j - i) == waiting_[ends_[i]]) {
        growth -= LogDomain(ends_[i]);
      }
      i = j;
    }
    return stays ? growth + LogDomain(v) : growth;
  }

  void Take(int v) {
    done_[v] = true;
    live_[v] = true;
    for (const int f : factors_[v]) {
      const std::vector<int>& scope = network_.factors[f].scope;
      for (const int u : scope) live_[u] = true;
      if (--open_[f] > 0) continue;
      for (const int u : scope) --waiting_[u];
    }
  }

  /// Among variables next to live ones, the one of least growth; any where there is none.
  int Next() {
    int best = -1, any = -1;
    double best_growth = 0;
    for (int v = 0; v < network_.variables(); ++v) {
      if (done_[v]) continue;
      if (any < 0) any = v;
      if (!live_[v]) continue;
      const double growth = Growth(v);
      if (best >= 0 && growth >= best_growth) continue;
      best = v;
      best_growth = growth;
    }
    return best >= 0 ? best : any;
  }

  const Network& network_;
  std::vector<std::vector<int>> factors_;
  std::vector<int> open_;     // by factor: variables of it not taken
  std::vector<int> waiting_;  // by variable: factors not complete
  std::vector<bool> done_, live_;
  std::vector<int> ends_;
};

}  // namespace

std::vector<int> FindSweepOrder(const Network& network) { return SweepOrderSearch(network).Run(); }

}  // namespace fettle::solver
