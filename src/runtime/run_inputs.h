// The tensors that a caller gives a run, checked against the graph's inputs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph_runner.h"
#include "tensor/tensor.h"

namespace fettle::runtime {

using TensorMap = std::map<std::string, Tensor>;

/// The shape of each.
std::map<std::string, Shape> ShapesOf(const TensorMap& tensors);
/// Tensors that share no bytes with those.
Result<TensorMap> CopiesOf(const TensorMap& tensors);
/// The same of what those hold. Fails where one is in somebody else's hands.
Result<TensorMap> CopiesOf(const BufferMap& buffers);

/// Belongs to one thread at a time.
class RunInputs {
 public:
  explicit RunInputs(std::shared_ptr<const ir::Graph> graph) : graph_(std::move(graph)) {}

  /// One tensor per graph input, in the graph's order, sharing the bytes of `inputs`.
  /// kInvalidArgument on a missing or unknown name, a wrong type, a shape that does not fit, or
  /// symbols of several sizes. Types and shapes that the last call took are not looked at again.
  Result<std::vector<Tensor>> InOrder(const TensorMap& inputs);

 private:
  Status Check(const TensorMap& inputs, std::span<const Tensor> ordered) const;
  bool IsInput(const std::string& name) const;
  std::vector<std::string> Names() const;

  std::shared_ptr<const ir::Graph> graph_;
  TensorTypes checked_;  // those that Check took last
};

}  // namespace fettle::runtime
