// The text that groups of equal costs share: what a measurement is kept under.
#pragma once

#include <string>

#include "ir/graph.h"

namespace fettle::kernels {

/// PrintGroup's text, but for the contents of constants that no time depends on: weights, biases,
/// tables of floats, scales and zero points, so that equal layers of one network share their
/// measurements. Zero points keep whether they are 0, 128 or something else, which decides what has
/// to be computed. Still a problem's text: what is made of it takes as long.
std::string PrintCosts(const ir::Graph& group);

}  // namespace fettle::kernels
