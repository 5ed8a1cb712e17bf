// The operands of a launch, as values.
#pragma once

#include <vector>

#include "kernels/kernel.h"
#include "tensor/compare.h"

namespace fettle::kernels {

/// A value in a state.
struct Operand {
  Shape shape;
  DType dtype = DType::kF32;
  State state;
};

/// What a launch reads and writes.
struct Operands {
  std::vector<Operand> inputs, outputs;
};
Operands OperandsOf(const Problem& problem);

/// Whether some operand is stored in less than its own type.
bool StoresLess(const Operands& operands);

/// `tolerance` plus the error of operands that are stored in less than their own type: a few steps
/// of the narrowest type relative to the `largest` result.
Tolerance WidenedForStorage(Tolerance tolerance, const Operands& operands, double largest);

}  // namespace fettle::kernels
