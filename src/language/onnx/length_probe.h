// A decoder's graph for one number of tokens, as far as it follows from that number.
#pragma once

#include "language/onnx/onnx_form.h"
#include "tensor/tensor.h"

namespace fettle::language {

/// `fresh` tokens behind `past` others, of which all count: what follows from shapes, the mask of
/// ones and the positions alone is known. Values have the graph's ids.
class LengthProbe {
 public:
  /// `graph` in topological order. Fails where inference refuses a node.
  static Result<LengthProbe> Make(const ir::Graph& graph, const OnnxForm& form, int64_t past,
                                  int64_t fresh);

  int64_t past() const { return past_; }
  int64_t fresh() const { return fresh_; }
  int64_t all() const { return past_ + fresh_; }
  /// Null where tokens decide.
  const Constant* Known(ir::ValueId id) const { return graph_.value(id).constant.get(); }
  /// Type and shape.
  const ir::Value& value(ir::ValueId id) const { return graph_.value(id); }
  /// `to` where `from` is `given`, by the scalar references: nothing where it needs more than that
  /// and what is known, or lies further away than a few nodes.
  std::optional<Tensor> Evaluate(ir::ValueId to, ir::ValueId from, const Tensor& given) const;

 private:
  LengthProbe(const ir::Graph& graph, int64_t past, int64_t fresh);
  Status SetInputs(const OnnxForm& form);
  Status Spread();
  std::optional<Tensor> Compute(ir::ValueId to, ir::ValueId from, const Tensor& given,
                                int& left) const;

  ir::Graph graph_;
  IdVector<ir::ValueId, ir::NodeId> producers_;
  int64_t past_, fresh_;
};

}  // namespace fettle::language
