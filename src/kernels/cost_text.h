// The text that groups of equal costs share: what a measurement is kept under.
#pragma once

#include <string>

#include "ir/graph.h"

namespace fettle::kernels {

/// PrintGroup's text without the contents of constants that do not affect times: weights, biases,
/// tables of floats, scales and zero points. So equal layers of one network share their
/// measurements. Of a zero point the text keeps whether it is 0, 128 or another number, because
/// that decides which corrections are computed. The text can be read back as a problem, whose group
/// takes the same time.
std::string PrintCosts(const ir::Graph& group);

}  // namespace fettle::kernels
