// The order in which a list of nodes can be imported.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx {

struct ImportPlan {
  /// Indices of nodes such that each comes after those whose outputs it reads, itself or in a
  /// sub-graph; the order of the file where that is free.
  std::vector<size_t> order;
  std::vector<bool> needed;  // by index: whether an output follows from it
};

/// Fails with kInvalidModel where a value is written twice or nodes form a cycle; the message names
/// a node.
Result<ImportPlan> PlanImport(const std::vector<NodeRecord>& nodes,
                              std::span<const std::string_view> outputs);

/// "node #12 'up_1' (Resize, opset 13)"; the opset is left out where it is 0.
std::string DescribeRecord(const NodeRecord& node, size_t index, int64_t opset);

/// What the node is called: its name, else operator and index, as "Conv_12".
std::string LabelOf(const NodeRecord& node, size_t index);

}  // namespace fettle::onnx
