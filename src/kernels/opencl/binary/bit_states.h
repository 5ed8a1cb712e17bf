// Floats beside bits on OpenCL devices: their states, and what follows a product of bits in its
// group.
#pragma once

#include "kernels/match/bits.h"
#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {

/// The form of the floats of a problem whose other operands are words of bits; the device's first
/// one where it has none.
State FloatsBeside(const Problem& problem, bool in_pixels, const Device& device);

/// The element-wise operators behind the product as an expression in `like`: its result is what is
/// stored as floats, and a second one, where that is another, what PackBits reads.
Result<Expression> CompileBitTail(const ir::Graph& group, const BitTail& tail,
                                  StateAssignment states, const State& like);

/// `packing` of sign_bits.clh.
cl_int4 PackingArg(const ops::BitPacking& packing);

}  // namespace fettle::kernels
