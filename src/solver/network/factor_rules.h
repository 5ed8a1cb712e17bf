// What the rules of Simplify ask of a network: where they apply, and what they make of it.
#pragma once

#include <vector>

#include "solver/network/factor_graph.h"

namespace fettle::solver {

/// The axis of `variable` in the table of a factor over it.
Axis AxisOfVariable(const FactorGraph& graph, const Factor& factor, int variable);

/// Per value of `v`, 1 where each table has an allowed entry for it.
std::vector<char> Supported(const FactorGraph& graph, int v);

/// The value of one variable of a pair for each value of the other, `source`; empty where there is
/// not exactly one allowed.
std::vector<int> FunctionOf(const FactorGraph& graph, const Factor& factor, int source);

/// Whether the other tables of `target` have many more entries once it is a function of `source`.
bool GrowsTooMuch(const FactorGraph& graph, int target, int source);

/// Tables and amounts of memory that depend on a variable.
size_t Ties(const FactorGraph& graph, int variable);

/// Whether the table of a pair is a sum of a cost of each.
bool IsSum(const FactorGraph& graph, const Factor& factor);

/// True where value `b` of `v` never costs or holds more than `a`; `held`: what `v` holds.
bool StandsIn(const FactorGraph& graph, int v, const std::vector<Held>& held, size_t a, size_t b);

/// Whether each value of `v` holds as much memory.
bool HoldsTheSame(const FactorGraph& graph, int v);

/// What each value of `v` costs where the variables of `scope`, two at most, have these values.
std::vector<Cost> CostsGiven(const FactorGraph& graph, int v, const std::vector<int>& scope,
                             const std::vector<int>& values);

}  // namespace fettle::solver
