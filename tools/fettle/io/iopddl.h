// Instances of the IOPDDL contest (google/iopddl, ASPLOS 2025): costs of nodes and edges, and the
// memory that nodes hold while they live.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "solver/network/limited.h"

namespace fettle::tools {

struct IopddlInstance {
  std::string name;
  solver::LimitedNetwork problem;
};

/// Reads the contest's JSON. Fails with kInvalidArgument where a member is missing or has another
/// type, or where an edge names a node that is not there.
Result<IopddlInstance> ParseIopddl(std::string_view json);

}  // namespace fettle::tools
