// If, Loop and Scan: operators that run sub-graphs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/graph_runner.h"

namespace fettle::runtime {

/// One control node with runners for its sub-graphs. Belongs to one session.
class ControlNode {
 public:
  static Result<std::unique_ptr<ControlNode>> Create(const ir::Node& node, Context& context);
  virtual ~ControlNode() = default;
  /// Operands in the order of the node's inputs (empty tensors where absent), captures included.
  virtual Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) = 0;
};

}  // namespace fettle::runtime
