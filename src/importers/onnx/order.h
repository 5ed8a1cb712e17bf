// The order in which a list of nodes can be imported.
#pragma once

#include <vector>

#include "base/status.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx {

/// Indices of `nodes` such that each comes after those whose outputs it reads, itself or in a
/// sub-graph; the order of the file where that is free. Fails with kInvalidModel where a value is
/// written twice or nodes form a cycle; the message names a node.
Result<std::vector<size_t>> ImportOrder(const std::vector<NodeRecord>& nodes);

/// "node #12 'up_1' (Resize, opset 13)"; the opset is left out where it is 0.
std::string DescribeRecord(const NodeRecord& node, size_t index, int64_t opset);

/// What the node is called: its name, else operator and index, as "Conv_12".
std::string LabelOf(const NodeRecord& node, size_t index);

}  // namespace fettle::onnx
