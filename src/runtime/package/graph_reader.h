// Graphs out of the index of a package.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "runtime/package/index_generated.h"
#include "runtime/package/sections.h"

namespace fettle::runtime::package {

/// The first graph of an index that FlatBuffers has verified, with its sub-graphs. Trusts nothing
/// that the index says. Constants keep `sections` alive; their bytes are not read, but for
/// booleans. `index_bytes` is the size of the index. Fails with kCorrupt, or with kUnsupported
/// where an operator is not known.
Result<std::shared_ptr<const ir::Graph>> ReadGraph(const index::Package& package,
                                                   uint64_t index_bytes,
                                                   const std::shared_ptr<const Sections>& sections);

}  // namespace fettle::runtime::package
