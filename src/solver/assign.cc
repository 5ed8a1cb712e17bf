#include "solver/assign.h"

#include <algorithm>

#include "solver/eliminate.h"
#include "solver/pbqp.h"
#include "solver/sweep.h"

namespace fettle::solver {
namespace {

/// Elimination that takes no more sums than this is not worth a second thought.
constexpr double kQuickSums = 1 << 20;
/// Tables up to this size are eliminated whatever the method: what is left is the hard core.
constexpr double kCoreTable = 1 << 10;
/// A step of the sweep takes about as long as so many sums of elimination.
constexpr double kSumsPerStep = 60;
/// As many states as MegEngine's sweep keeps.
constexpr int64_t kBeam = 1024;

/// No assignment costs less than the least entries of all tables together.
Cost SumOfMinima(const Network& network) {
  Cost sum = network.constant;
  for (const std::vector<Cost>& unary : network.unary) {
    sum += *std::min_element(unary.begin(), unary.end());
  }
  for (const Factor& factor : network.factors) {
    sum += *std::min_element(factor.table.begin(), factor.table.end());
  }
  return sum;
}

class Assigner {
 public:
  Assigner(const Network& network, const Options& options, Report& report)
      : network_(network), options_(options), report_(report), elimination_(network) {}

  Result<Assigned> Run() {
    if (options_.method == "pbqp") return Heuristic("pbqp", ReduceAndGuess(network_));
    order_ = FindOrder(network_);
    const bool fits = order_.Bytes() <= static_cast<double>(options_.table_bytes);
    const bool is_auto = options_.method == "auto";
    if (options_.method == "ve" || (is_auto && fits && order_.sums <= kQuickSums)) {
      if (!fits) return Unsupported("tables of {} entries are too large", order_.largest);
      return FinishElimination();
    }
    EliminateToCore();
    const Network core = elimination_.Rest();
    if (options_.method == "capped") return SweepBeam(core);
    SweepLimits limits;
    limits.most_states = options_.table_bytes / 256;
    if (is_auto && fits) limits.most_steps = order_.sums / kSumsPerStep;
    const std::optional<Swept> swept = Sweep(core, limits);
    if (swept) {
      Note("sweep", swept->peak_states);
      return Exactly(swept->cost, swept->values);
    }
    if (options_.method == "sweep") return Unsupported("the sweep has too many states");
    if (fits) return FinishElimination();
    return SweepBeam(core);
  }

 private:
  void Note(std::string_view method, int64_t largest_table) {
    if (report_.largest_table > largest_table) return;
    report_.method = method;
    report_.width = order_.width;
    report_.largest_table = largest_table;
  }

  /// `values` of what is not eliminated yet are the best.
  Assigned Exactly(Cost cost, const Assignment& values) const {
    if (cost == kForbidden) return {};
    return {elimination_.Extend(values), cost, cost};
  }

  Result<Assigned> Heuristic(std::string_view method, const Assignment& values) {
    Note(method, 0);
    if (values.empty()) return Assigned{{}, kForbidden, SumOfMinima(network_)};
    return Assigned{values, Sum(network_, values), SumOfMinima(network_)};
  }

  Result<Assigned> FinishElimination() {
    for (; taken_ < order_.variables.size(); ++taken_) elimination_.Take(order_.variables[taken_]);
    Note("ve", static_cast<int64_t>(order_.largest));
    return Exactly(elimination_.Rest().constant, {});
  }

  void EliminateToCore() {
    while (taken_ < order_.variables.size() && order_.tables[taken_] <= kCoreTable) {
      elimination_.Take(order_.variables[taken_++]);
    }
  }

  Result<Assigned> SweepBeam(const Network& core) {
    const std::optional<Swept> swept = Sweep(core, {kBeam, true});
    Note("capped", swept->peak_states);
    if (swept->is_exact) return Exactly(swept->cost, swept->values);
    const Cost bound = SumOfMinima(core);
    if (swept->cost == kForbidden) return Assigned{{}, kForbidden, bound};
    return Assigned{elimination_.Extend(swept->values), swept->cost, bound};
  }

  const Network& network_;
  const Options& options_;
  Report& report_;
  Elimination elimination_;
  EliminationOrder order_;
  size_t taken_ = 0;  // of order_.variables
};

}  // namespace

Result<Assigned> Assign(const Network& network, const Options& options, int64_t /*until_ns*/,
                        Report& report) {
  return Assigner(network, options, report).Run();
}

}  // namespace fettle::solver
