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
bool Has(const Loops& loops, int loop);

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

/// An operand: its loops, each at most once, and whether it is known at load, where it may be
/// transposed for nothing.
struct ContractedOperand {
  Loops loops;
  bool is_constant = false;
};

/// The cheapest contraction of two operands over the loops that `needed` does not ask for
/// afterwards. `ordered`: the result has to have its loops in ascending order, or is transposed.
/// `extents` are those of all loops. A constant becomes B, as kernels pack it, if the other one is
/// computed. O(loops squared).
Contraction PlanContraction(const ContractedOperand& first, const ContractedOperand& second,
                            const std::vector<int64_t>& extents,
                            const std::function<bool(int)>& needed, bool ordered);

/// The product of the extents of `loops`.
double Elements(const Loops& loops, const std::vector<int64_t>& extents);

}  // namespace fettle::passes
