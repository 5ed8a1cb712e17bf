#include "passes/rewrite/contraction.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fettle::passes {
namespace {

Loops Where(const Loops& loops, const std::function<bool(int)>& wanted) {
  Loops chosen;
  std::copy_if(loops.begin(), loops.end(), std::back_inserter(chosen), wanted);
  return chosen;
}

Loops Sorted(Loops loops) {
  std::sort(loops.begin(), loops.end());
  return loops;
}

/// How many elements are transposed, those of B for half where only its last two blocks change
/// places: kernels read such a B as they pack it.
double Moved(const Contraction& c, const Loops& a, const ContractedOperand& right,
             const std::vector<int64_t>& extents, bool ordered) {
  const Loops& b = right.loops;
  double moved = c.a() == a ? 0 : Elements(a, extents);
  if (c.b() != b && !right.is_constant) {
    Loops stored = c.batch;
    stored.insert(stored.end(), c.columns.begin(), c.columns.end());
    stored.insert(stored.end(), c.summed.begin(), c.summed.end());
    moved += (stored == b ? 0.5 : 1) * Elements(b, extents);
  }
  const Loops result = c.result();
  if (ordered && !std::is_sorted(result.begin(), result.end())) moved += Elements(result, extents);
  return moved;
}

/// All orders worth trying of the loops that `first` and `second` share: as one of them has them,
/// or ascending.
std::vector<Loops> Orders(const Loops& loops, const Loops& first, const Loops& second) {
  const auto as_in = [&](const Loops& operand) {
    return Where(operand, [&](int loop) { return Has(loops, loop); });
  };
  std::vector<Loops> orders = {Sorted(loops), as_in(first), as_in(second)};
  for (Loops& order : orders) {
    if (order.size() != loops.size()) order = orders.front();
  }
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  return orders;
}

}  // namespace

bool Has(const Loops& loops, int loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

Loops Contraction::Joined(Loops loops, const Loops& then, const Loops& last) {
  loops.insert(loops.end(), then.begin(), then.end());
  loops.insert(loops.end(), last.begin(), last.end());
  return loops;
}

double Elements(const Loops& loops, const std::vector<int64_t>& extents) {
  double elements = 1;
  for (int loop : loops) elements *= static_cast<double>(extents[loop]);
  return elements;
}

Contraction PlanContraction(const ContractedOperand& first, const ContractedOperand& second,
                            const std::vector<int64_t>& extents,
                            const std::function<bool(int)>& needed, bool ordered) {
  const auto shared = [&](int loop) { return Has(first.loops, loop) && Has(second.loops, loop); };
  const Loops batch = Where(first.loops, [&](int loop) { return shared(loop) && needed(loop); });
  const Loops summed = Where(first.loops, [&](int loop) { return shared(loop) && !needed(loop); });
  Contraction best;
  double least = std::numeric_limits<double>::infinity();
  for (const bool swapped : {false, true}) {
    const ContractedOperand& left = swapped ? second : first;
    const ContractedOperand& right = swapped ? first : second;
    if (left.is_constant && !right.is_constant) continue;
    const Loops &a = left.loops, &b = right.loops;
    const auto alone = [&](int loop) { return !shared(loop); };
    const Loops rows = Where(a, alone), columns = Where(b, alone);
    for (const Loops& batches : Orders(batch, a, b)) {
      for (const Loops& sums : Orders(summed, a, b)) {
        for (const Loops& of_rows : Orders(rows, a, a)) {
          for (const Loops& of_columns : Orders(columns, b, b)) {
            const Contraction tried = {batches, of_rows, of_columns, sums, swapped};
            const double moved = Moved(tried, a, right, extents, ordered);
            if (moved >= least) continue;
            least = moved;
            best = tried;
          }
        }
      }
    }
  }
  return best;
}

}  // namespace fettle::passes
