// How far a kernel for a group may be from the group's oracle.
#pragma once

#include "ir/graph.h"
#include "kernels/arithmetic.h"
#include "tensor/compare.h"

namespace fettle::kernels {

/// Terms of the longest sum that an element of the group is made of.
int64_t LongestSum(const ir::Graph& group);

/// What the sums of a group are made of.
struct SumTerms {
  double magnitude = 1;  // of one
  /// Signs change from term to term, so that lanes add up terms of one sign; otherwise they are
  /// random.
  bool alternate = false;
};

/// What an output that is stored as its own type may differ from the oracle's, whose largest finite
/// magnitude is `largest`: the type's rounding once per node, and sums as long as the longest of
/// the group, added up in any order. With random signs partial sums stay near the square root of
/// their length times a term; with others a sum of n terms t is off by less than sqrt(n) u sum |t|,
/// u the unit roundoff, as roundings are independent of each other (Higham and Mary, A new approach
/// to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019; n u sum |t| is never
/// passed). One of 50,000 alternating terms that is left out shows.
Tolerance GroupTolerance(const ir::Graph& group, ir::ValueId output, double largest,
                         const SumTerms& terms = {});

/// How large the group's results, or the sums that they are made of, may be in all: the error of
/// rounded factors is a share of this. Arguments as for GroupTolerance.
double SumMagnitude(const ir::Graph& group, double largest, const SumTerms& terms = {});

/// `tolerance` of a kernel that computes in `arithmetic`, where `magnitude` is SumMagnitude. With
/// bf16 both factors of each product are wrong by up to u = 2^-8 (TF32: 2^-11) of themselves and
/// sums are f32: n products, rounded independently of each other, are wrong by less than 4 u times
/// the square root of the sum of their squares. Other arithmetic: unchanged, because the operands'
/// storage decides.
Tolerance WidenedForArithmetic(Tolerance tolerance, Arithmetic arithmetic, double magnitude);

}  // namespace fettle::kernels
