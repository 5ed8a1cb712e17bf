// Proves which values of a graph have only two values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "passes/binary/binary_product.h"
#include "passes/binary/thresholds.h"

namespace fettle::passes {

/// All elements of a value are one of two numbers, as a function of one bit: that of `root`, which
/// is such a value itself.
struct TwoValued {
  ir::ValueId root = ir::kAbsent;
  /// [2]: where root has its lower value, and where its upper one.
  Tensor results;

  double result(int64_t i) const { return results.view().GetDouble(i); }
  double low() const { return std::min(result(0), result(1)); }
  double high() const { return std::max(result(0), result(1)); }
};

/// A value that is, for each channel, a monotone function of a product's sums.
struct Sums {
  std::shared_ptr<const BinaryProduct> product;
  std::vector<ir::NodeId> chain;  // from the product's result on
  /// A maximum was taken on the way: the numbers are the same, but no longer of a single sum.
  bool is_pooled = false;
};

/// Walks a graph in topological order once. Two-valued are: comparisons, and values computed from
/// one of them and numbers alone; monotone functions of sums of bits that bisection shows to have
/// two values (Sign where no sum gives 0); rounded numbers and signs of numbers whose bounds give
/// two neighbouring integers; (s - c) + c of straight-through estimators (SkipEstimator); and
/// values that are moved or selected from these. Products of a Sign of any numbers are masked. A
/// NaN counts as the lower value, or as 0. Holds a reference to the graph, which must not change.
class TwoValuedAnalysis {
 public:
  explicit TwoValuedAnalysis(const ir::Graph& graph);

  const TwoValued* Find(ir::ValueId id) const { return Get(id).two ? &*Get(id).two : nullptr; }
  const Sums* SumsOf(ir::ValueId id) const { return Get(id).sums ? &*Get(id).sums : nullptr; }
  /// Null where the node is no product of bits; Why gives the reason.
  const BinaryProduct* ProductOf(ir::NodeId id) const { return products_[id].get(); }
  const std::string& Why(ir::NodeId id) const { return why_[id]; }
  /// -1 for inputs and constants.
  ir::NodeId ProducerOf(ir::ValueId id) const { return producers_[id]; }

 private:
  struct Fact {
    std::optional<TwoValued> two;
    std::optional<Sums> sums;
    std::string why;  // no two values
  };

  const Fact& Get(ir::ValueId id) const;
  void Visit(ir::NodeId id);
  void VisitProduct(ir::NodeId id);
  bool VisitMasked(ir::NodeId id);
  void TakePad(BinaryProduct& product) const;
  void FollowSums(const ir::Node& node, ir::NodeId id, Fact& fact);
  std::optional<TwoValued> Compute(const ir::Node& node) const;
  std::optional<TwoValued> Move(const ir::Node& node) const;
  std::optional<TwoValued> StepBetween(const ir::Node& node) const;
  std::string Reason(const ir::Node& node) const;

  const ir::Graph& graph_;
  IdVector<ir::ValueId, ir::NodeId> producers_;
  IdVector<ir::ValueId, Fact> facts_;
  IdVector<ir::NodeId, std::shared_ptr<const BinaryProduct>> products_;
  IdVector<ir::NodeId, std::string> why_;
};

}  // namespace fettle::passes
