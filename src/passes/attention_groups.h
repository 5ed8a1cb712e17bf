// Attention as exporters spell it: groups around a Softmax.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "attention": Softmax, the product that it reads with what is done to its sums
/// element by element and Reshape between, and the product that reads its result; and the same with
/// what moves the elements of the products' operands, repeats or scales them by a number, and what
/// moves those of the result, as far as nobody else reads what lies between.
void ListAttentionGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
