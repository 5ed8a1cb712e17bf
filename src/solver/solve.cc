#include "solver/solve.h"

#include "base/clock.h"
#include "solver/assign.h"
#include "solver/branch.h"
#include "solver/brute.h"
#include "solver/encode.h"

namespace fettle::solver {
namespace {

int64_t CountChoices(const Kept& kept) {
  int64_t count = 0;
  for (const std::vector<int>& choices : kept) count += static_cast<int64_t>(choices.size());
  return count;
}

Result<Solution> SolveExactly(const Problem& problem, const Options& options, Report& report) {
  const Kept all = KeepAll(problem);
  const Kept kept = DropDominated(problem, all);
  report.choices_before = CountChoices(all);
  report.choices_after = CountChoices(kept);
  BranchLimits limits;
  limits.until_ns = NowNs() + static_cast<int64_t>(options.seconds * 1e9);
  const PricedSolve solve = [&](const Kept& of, const Prices& prices) -> Result<Solution> {
    ASSIGN_OR_RETURN(const Encoding encoding, Encode(problem, of, prices));
    ASSIGN_OR_RETURN(const Assigned best,
                     Assign(encoding.network, options, limits.until_ns, report));
    if (best.cost == kForbidden) return Unsupported("no cover keeps the limits");
    ASSIGN_OR_RETURN(Solution solution, Complete(problem, PicksOf(encoding, best.values), prices));
    solution.bound = best.bound;
    return solution;
  };
  return SolveByBranching(problem, kept, solve, limits);
}

}  // namespace

Result<Solution> Solve(const Problem& problem, const Options& options, Report* report) {
  RETURN_IF_ERROR(Validate(problem));
  Report unused;
  Report& used = report != nullptr ? *report : unused;
  used = {};
  const int64_t start = NowNs();
  Result<Solution> solution =
      options.method == "brute" ? SolveByBruteForce(problem) : SolveExactly(problem, options, used);
  used.seconds = static_cast<double>(NowNs() - start) / 1e9;
  return solution;
}

}  // namespace fettle::solver
