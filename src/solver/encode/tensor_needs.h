// In which states the readers of each tensor may need it.
#pragma once

#include <vector>

#include "solver/encode/encode.h"
#include "solver/encode/need_tree.h"
#include "solver/encode/tensor_uses.h"

namespace fettle::solver {

/// Readers are node variables, so their numbers are their steps where bytes have prices; else some
/// may be merged ones.
struct TensorNeeds {
  std::vector<int> terminals;   // states that may be needed, ascending
  StateSet wanted = 0;          // of them, at the end
  std::vector<Reader> readers;  // last one first
  bool is_direct = true;        // one table over source and readers
  std::vector<int> path;        // else: of the readers in the tree
};

/// Finds the needs of all tensors of an encoding whose nodes have their values, and adds variables
/// that tell sets of them. Keeps references to its arguments.
class NeedFinder {
 public:
  NeedFinder(const Problem& problem, const Kept& kept, const Prices& prices,
             Conversions conversions, const TensorUses& uses, Encoding& encoding)
      : problem_(problem),
        kept_(kept),
        prices_(prices),
        is_shared_(conversions == Conversions::kShared),
        uses_(uses),
        encoding_(encoding) {}

  /// Fails with kUnsupported where a tensor may be needed in too many states at once.
  Status Run();
  const TensorNeeds& Of(size_t tensor) const { return tensors_[tensor]; }
  const NeedTree& tree() const { return tree_; }

 private:
  Result<TensorNeeds> FindNeeds(size_t t);
  Status FindTerminals(size_t t, TensorNeeds& needs) const;
  void FindReaders(size_t t, TensorNeeds& needs) const;
  /// Readers of which a cover takes one at most (a node alone, or in a group with its neighbours)
  /// become one, whose variable says no more than what is needed.
  void MergeReaders(size_t t, std::vector<Reader>& readers);
  Reader Merge(const std::vector<Reader>& readers);
  bool AreExclusive(size_t t, int a, int b) const;
  /// One table tells all: few readers, few combinations, and no price on what lives between them.
  bool IsDirect(size_t t, const std::vector<Reader>& readers) const;
  Status TooManyStates(size_t t, const TensorNeeds& needs) const;

  const Problem& problem_;
  const Kept& kept_;
  const Prices& prices_;
  bool is_shared_;
  const TensorUses& uses_;
  Encoding& encoding_;
  std::vector<TensorNeeds> tensors_;
  NeedTree tree_;
};

}  // namespace fettle::solver
