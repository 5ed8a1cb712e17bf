// What it costs to serve a tensor's readers: conversions, and the copies that live meanwhile.
#pragma once

#include <map>
#include <vector>

#include "solver/encode/tensor_needs.h"

namespace fettle::solver {

/// Adds the costs of tensors to an encoding whose needs are found. Keeps references to its
/// arguments.
class TensorCosts {
 public:
  TensorCosts(const Problem& problem, const Prices& prices, Conversions conversions,
              const TensorUses& uses, const NeedFinder& needs, Encoding& encoding)
      : problem_(problem),
        prices_(prices),
        is_shared_(conversions == Conversions::kShared),
        uses_(uses),
        needs_(needs),
        encoding_(encoding) {}

  void Add(size_t tensor);

 private:
  /// A state in which a tensor is written, and by which node's variable; kAbsent where nothing
  /// writes it.
  static constexpr int kAbsent = -1;
  struct Written {
    int variable = kAbsent;  // of the node that is tied to the writing operand
    int state = kAbsent;
    auto operator<=>(const Written&) const = default;
  };
  /// Where a tensor comes from: a variable, by value what is written. No variable: given.
  struct Source {
    int variable = -1;
    std::vector<Written> written;
  };
  using WrittenBy = std::map<int, std::vector<Written>>;  // by variable and value

  Network& network() { return encoding_.network; }
  WrittenBy FindWriters(size_t t) const;
  Source MakeSource(size_t t);
  bool Reads(size_t t, int variable) const;
  template <typename CostFn>
  void AddReaders(size_t t, int source, CostFn cost);
  template <typename CostFn>
  void AddDirect(const TensorNeeds& needs, int source, CostFn cost);
  template <typename CostFn>
  void AddTo(int a, int b, CostFn cost);
  /// Cost of serving `needed` from what is written, with the price of the copies up to the first
  /// reader.
  Cost CostOf(size_t t, const Written& written, StateSet needed,
              std::map<int, ConversionCosts>& by_step) const;
  Cost PriceOfFirstLife(size_t t, const Written& written, StateSet needed, int step) const;
  void PriceLives(size_t t);
  /// Price of bytes at the nodes after `from` up to `to`.
  double PriceBetween(int from, int to) const;

  const Problem& problem_;
  const Prices& prices_;
  bool is_shared_;
  const TensorUses& uses_;
  const NeedFinder& needs_;
  Encoding& encoding_;
};

}  // namespace fettle::solver
