// A decoder's graph for one number of tokens, as far as it follows from that number.
#pragma once

#include "language/onnx/onnx_form.h"
#include "tensor/tensor.h"

namespace fettle::language {

/// What is looked at alone: values, and what they follow from. Scores, of a type, are taken as
/// [1, 1, fresh, all], whatever makes them.
struct ProbedParts {
  std::vector<ir::ValueId> wanted;
  std::vector<std::pair<ir::ValueId, DType>> scores;
};

/// `fresh` tokens behind `past` others, of which all count: what follows from shapes, the mask of
/// ones and the positions alone is known. Values have the graph's ids.
class LengthProbe {
 public:
  /// `graph` in topological order. Fails where inference refuses a node. Null `parts`: all of it.
  static Result<LengthProbe> Make(const ir::Graph& graph, const OnnxForm& form, int64_t past,
                                  int64_t fresh, const ProbedParts* parts = nullptr);

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
  /// Which nodes lead to the parts; those of scores do not.
  IdVector<ir::NodeId, bool> Needed(const ProbedParts& parts) const;
  Status Spread(const IdVector<ir::NodeId, bool>& needed);
  std::optional<Tensor> Compute(ir::ValueId to, ir::ValueId from, const Tensor& given,
                                int& left) const;

  ir::Graph graph_;
  IdVector<ir::ValueId, ir::NodeId> producers_;
  int64_t past_, fresh_;
};

}  // namespace fettle::language
