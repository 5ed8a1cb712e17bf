// Entries of the default plan that stay although they are banned, because all others are banned
// too.
#pragma once

#include <string>
#include <vector>

#include "planner/catalogue.h"
#include "planner/cost_source.h"
#include "planner/decision.h"

namespace fettle::planner {

/// The costs of a catalogue's entries, by kind and entry.
using Prices = std::vector<std::vector<EntryCost>>;

/// An entry that stays although it is banned, and the message about it.
struct Staying {
  int kind = 0;
  int entry = 0;
  std::string warning;  // names the group, and the kernels that failed
};

/// The entries of `preferred`, a plan of `graph` on so many threads, that compute nodes of which
/// all entries are banned.
std::vector<Staying> ListStaying(const ir::Graph& graph, const Catalogue& catalogue,
                                 const Prices& prices, const Decision& preferred, int threads);

}  // namespace fettle::planner
