// An assignment problem as a cost function network, and back.
#pragma once

#include <vector>

#include "solver/encode/conversions.h"
#include "solver/encode/reduce.h"
#include "solver/network/network.h"

namespace fettle::solver {

/// Variable n < Problem::nodes says how node n is computed. The last node of a group owns it: its
/// values are the owned groups' choices. A group's other nodes have one value for the whole group,
/// or, in a spread encoding, one for each choice too. Further variables are states in which tensors
/// are written and sets of states that readers need.
struct Encoding {
  Network network;
  /// By node and value: the pick; its choice is -1 where only the group's owner knows it.
  std::vector<std::vector<Pick>> values;
};

/// Which nodes of a group know its choice. Where they all do, operands are tied to the nodes that
/// read and write them rather than to the owner, so that long groups join no distant nodes: more
/// values, less width.
enum class Detail { kOwners, kSpread };

/// Whether a conversion that several readers need is paid once or, as in PBQP, by each of them.
enum class Conversions { kShared, kPerReader };

/// The network whose cheapest assignment is the cheapest solution at these prices, conversions paid
/// as said. Limits are left out but for what `prices` make them cost; live bytes that
/// a network cannot see are left out too, so the cost is never above the priced cost of the
/// solution. Bytes that have prices live at owners, and make every encoding one of owners. Fails
/// with kUnsupported where a tensor may be needed in too many states at once.
Result<Encoding> Encode(const Problem& problem, const Kept& kept, const Prices& prices,
                        Conversions conversions = Conversions::kShared,
                        Detail detail = Detail::kOwners);

std::vector<Pick> PicksOf(const Encoding& encoding, const Assignment& values);

}  // namespace fettle::solver
