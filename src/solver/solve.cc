#include "solver/solve.h"

#include <queue>

#include "solver/brute.h"
#include "solver/eliminate.h"
#include "solver/encode.h"
#include "solver/evaluate.h"

namespace fettle::solver {
namespace {

Status NoCover() { return Unsupported("no cover keeps the limits"); }

/// A solution whose groups may wait for each other, and the choices that it was found among.
struct Candidate {
  Solution solution;
  Kept kept;
  bool operator<(const Candidate& other) const {  // the queue gives the greatest first
    return solution.bound > other.solution.bound;
  }
};

class Solver {
 public:
  Solver(const Problem& problem, Report& report) : problem_(problem), report_(report) {}

  /// Best first over what is left without one group of each cycle that comes up.
  Result<Solution> Run(Kept kept) {
    std::priority_queue<Candidate> queue;
    const auto push = [&](Kept of) -> Status {
      Result<Solution> solution = SolveAnyOrder(of);
      if (solution.ok()) queue.push({std::move(solution).value(), std::move(of)});
      return solution.status();
    };
    RETURN_IF_ERROR(push(std::move(kept)));
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      const std::vector<int> cycle = PicksOnCycle(problem_, best.solution.picks);
      if (cycle.empty()) return best.solution;
      for (const int pick : cycle) {
        Kept without = best.kept;
        without[static_cast<size_t>(best.solution.picks[static_cast<size_t>(pick)].group)].clear();
        (void)push(std::move(without)).ok();
      }
    }
    return NoCover();
  }

 private:
  Result<Solution> SolveAnyOrder(const Kept& kept) {
    ASSIGN_OR_RETURN(const Encoding encoding, Encode(problem_, kept, {}));
    const EliminationOrder order = FindOrder(encoding.network);
    report_.method = "ve";
    report_.width = order.width;
    report_.largest_table = static_cast<int64_t>(order.largest);
    const Eliminated best = Eliminate(encoding.network, order);
    if (best.cost == kForbidden) return NoCover();
    ASSIGN_OR_RETURN(Solution solution, Complete(problem_, PicksOf(encoding, best.values), {}));
    solution.bound = solution.cost;
    return solution;
  }

  const Problem& problem_;
  Report& report_;
};

}  // namespace

Result<Solution> Solve(const Problem& problem, const Options& options, Report* report) {
  RETURN_IF_ERROR(Validate(problem));
  if (options.method == "brute") return SolveByBruteForce(problem);
  Report unused;
  return Solver(problem, report != nullptr ? *report : unused)
      .Run(DropDominated(problem, KeepAll(problem)));
}

}  // namespace fettle::solver
