// How two operands of an Einsum become one matrix product: which loops are batch, rows, columns and
// sums, and in which order each, so that as few elements as possible are transposed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace fettle::passes {

/// Loops of an Einsum equation, by their numbers; those of the output have the lowest ones, in its
/// order.
using Loops = std::vector<int>;

/// The product [batch, rows, columns] of A [batch, rows, summed] and B [batch, summed, columns].
struct Contraction {
  Loops batch, rows, columns, summed;
  bool swapped = false;  // A is the second operand

  Loops a() const { return Joined(batch, rows, summed); }
  Loops b() const { return Joined(batch, summed, columns); }
  Loops result() const { return Joined(batch, rows, columns); }

 private:
  static Loops Joined(Loops loops, const Loops& then, const Loops& last);
};

/// The cheapest contraction of operands with the loops `first` and `second`, each at most once,
/// over those that `needed` does not ask for afterwards. `ordered`: the result has to have its
/// loops in ascending order, or is transposed. `extents` are those of all loops. O(loops squared).
Contraction PlanContraction(const Loops& first, const Loops& second,
                            const std::vector<int64_t>& extents,
                            const std::function<bool(int)>& needed, bool ordered);

/// The product of the extents of `loops`.
double Elements(const Loops& loops, const std::vector<int64_t>& extents);

}  // namespace fettle::passes
