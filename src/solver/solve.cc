#include "solver/solve.h"

#include <algorithm>

#include "base/clock.h"
#include "solver/assign.h"
#include "solver/encode/branch.h"
#include "solver/encode/complete.h"
#include "solver/encode/encode.h"
#include "solver/exact/eliminate.h"
#include "solver/limits/budget.h"
#include "solver/problem/brute.h"
#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

constexpr std::string_view kSingle = "single:";

Status NoCover() { return Unsupported("no cover keeps the limits"); }

int64_t CountChoices(const Kept& kept) {
  int64_t count = 0;
  for (const std::vector<int>& choices : kept) count += static_cast<int64_t>(choices.size());
  return count;
}

/// `state` is the name of a state or, between colons, a part of it.
bool IsPartOf(std::string_view name, std::string_view state) {
  for (size_t at = name.find(state); at != name.npos; at = name.find(state, at + 1)) {
    const size_t end = at + state.size();
    if ((at == 0 || name[at - 1] == ':') && (end == name.size() || name[end] == ':')) return true;
  }
  return false;
}

/// Of each group, the choices with the most operands in `state`.
Kept KeepState(const Problem& problem, std::string_view state) {
  Kept kept;
  for (const Group& group : problem.groups) {
    std::vector<int>& best = kept.emplace_back();
    int64_t most = -1;
    for (size_t c = 0; c < group.choices.size(); ++c) {
      int64_t count = 0;
      const auto add = [&](const std::vector<int>& tensors, const std::vector<int>& states) {
        for (size_t i = 0; i < tensors.size(); ++i) {
          const Tensor& tensor = problem.tensors[tensors[i]];
          count += IsPartOf(tensor.states[states[i]], state) ? 1 : 0;
        }
      };
      add(group.inputs, group.choices[c].inputs);
      add(group.outputs, group.choices[c].outputs);
      if (count > most) best.clear();
      most = std::max(most, count);
      if (count == most) best.push_back(static_cast<int>(c));
    }
  }
  return kept;
}

class Solver {
 public:
  Solver(const Problem& problem, const Options& options, Report& report)
      : problem_(problem),
        options_(options),
        report_(report),
        until_ns_(NowNs() + static_cast<int64_t>(std::clamp(options.seconds, 0.0, 1e8) * 1e9)) {}

  Result<Solution> Run() {
    Kept kept = KeepAll(problem_);
    report_.choices_before = CountChoices(kept);
    const bool is_single = options_.method.substr(0, kSingle.size()) == kSingle;
    if (is_single) {
      kept = KeepState(problem_, options_.method.substr(kSingle.size()));
      options_.method = "auto";
    }
    kept = DropDominated(problem_, std::move(kept));
    report_.choices_after = CountChoices(kept);
    if (options_.method == "pbqp" || options_.method == "capped") return Compare(kept);
    const PricedSolve solve = [&](const Kept& of, const Prices& prices) {
      return SolvePriced(of, prices, Conversions::kShared);
    };
    ASSIGN_OR_RETURN(Solution solution, SolveLimited(kept, solve));
    if (is_single) solution.bound = 0;  // other states may cost less
    return solution;
  }

 private:
  Result<Solution> SolvePriced(const Kept& kept, const Prices& prices, Conversions conversions) {
    ASSIGN_OR_RETURN(const Ordered narrow, NarrowEncoding(kept, prices, conversions));
    const Encoding& encoding = narrow.encoding;
    ASSIGN_OR_RETURN(const Assigned best,
                     Assign(encoding.network, narrow.order, options_, until_ns_, report_));
    if (best.cost == kForbidden) {
      if (best.bound < kForbidden && NowNs() >= until_ns_)
        return Unsupported("no cover was found in time");
      return NoCover();
    }
    ASSIGN_OR_RETURN(Solution solution, Complete(problem_, PicksOf(encoding, best.values), prices));
    solution.bound = best.bound;
    return solution;
  }

  /// A network, and how to eliminate it.
  struct Ordered {
    Encoding encoding;
    EliminationOrder order;
  };

  Result<Ordered> EncodeOrdered(const Kept& kept, const Prices& prices, Conversions conversions,
                                Detail detail) {
    ASSIGN_OR_RETURN(Encoding encoding, Encode(problem_, kept, prices, conversions, detail));
    EliminationOrder order = FindOrder(encoding.network);
    return Ordered{std::move(encoding), std::move(order)};
  }

  /// The encoding of owners unless its elimination takes many sums and that of a spread one fewer.
  Result<Ordered> NarrowEncoding(const Kept& kept, const Prices& prices, Conversions conversions) {
    constexpr double kManySums = 1 << 22;
    ASSIGN_OR_RETURN(Ordered owners, EncodeOrdered(kept, prices, conversions, Detail::kOwners));
    if (owners.order.sums < kManySums || !prices.bytes.empty() ||
        conversions != Conversions::kShared)
      return owners;
    ASSIGN_OR_RETURN(Ordered spread, EncodeOrdered(kept, prices, conversions, Detail::kSpread));
    return spread.order.sums < owners.order.sums ? std::move(spread) : std::move(owners);
  }

  Result<Solution> SolveLimited(const Kept& kept, const PricedSolve& solve) {
    BranchLimits limits{.deadline = {until_ns_, options_.cancelled}};
    if (problem_.error_budget >= 0 && problem_.memory_limit < 0) {
      ASSIGN_OR_RETURN(const PricedBudget priced, PriceBudget(problem_, kept, solve));
      const std::optional<Solution> best = SolveWithinBudget(problem_, kept, priced);
      if (best && Evaluate(problem_, *best).ok()) return *best;
      limits.prices.error = priced.price;
      limits.known = priced.best;
      limits.bound = priced.bound;
    }
    return SolveByBranching(problem_, kept, solve, limits);
  }

  /// A method that knows no limits and does not search on.
  Result<Solution> Compare(const Kept& kept) {
    const bool is_pbqp = options_.method == "pbqp";
    ASSIGN_OR_RETURN(
        Solution solution,
        SolvePriced(kept, {}, is_pbqp ? Conversions::kPerReader : Conversions::kShared));
    // The network of PBQP charges more than solutions cost: what it says bounds nothing.
    solution.bound = is_pbqp ? 0 : std::min(solution.bound, solution.cost);
    RETURN_IF_ERROR(Evaluate(problem_, solution).status());
    return solution;
  }

  const Problem& problem_;
  Options options_;
  Report& report_;
  int64_t until_ns_;
};

bool IsMethod(std::string_view method) {
  constexpr std::string_view kMethods[] = {"auto", "ve", "sweep", "capped", "pbqp", "brute"};
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods) ||
         method.substr(0, kSingle.size()) == kSingle;
}

}  // namespace

Result<Solution> Solve(const Problem& problem, const Options& options, Report* report) {
  if (!IsMethod(options.method)) {
    return InvalidArgument(
        "solver '{}': expected auto, ve, sweep, capped, pbqp, single:STATE or brute",
        options.method);
  }
  RETURN_IF_ERROR(Validate(problem));
  Report unused;
  Report& used = report != nullptr ? *report : unused;
  used = {};
  used.method = options.method;
  const int64_t start = NowNs();
  Result<Solution> solution =
      options.method == "brute" ? SolveByBruteForce(problem) : Solver(problem, options, used).Run();
  used.seconds = static_cast<double>(NowNs() - start) / 1e9;
  return solution;
}

}  // namespace fettle::solver
