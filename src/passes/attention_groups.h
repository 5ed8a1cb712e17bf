// Attention as exporters spell it: groups around a Softmax.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "attention": a Softmax, the product that makes its operand, the product that
/// reads its result, and the element-wise operators and Reshapes between them. Also the same groups
/// extended by operators that move the elements of the products' operands, repeat them or scale
/// them by a number, and by those that move the result's elements, as far as nothing else reads the
/// values between.
void ListAttentionGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
