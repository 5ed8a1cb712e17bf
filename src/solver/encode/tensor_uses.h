// Which groups read and write each tensor, and which node variables say in which states.
#pragma once

#include <set>
#include <vector>

#include "solver/encode/encode.h"

namespace fettle::solver {

/// A group's operand.
struct Use {
  int group = 0;
  size_t operand = 0;
};

/// Refers to the problem.
class TensorUses {
 public:
  /// Of the groups that have choices left. In a spread encoding operands are tied to the nodes that
  /// read and write them, else to owners.
  TensorUses(const Problem& problem, const Kept& kept, Detail detail);

  const std::vector<Use>& readers(size_t tensor) const { return readers_[tensor]; }
  const std::vector<Use>& writers(size_t tensor) const { return writers_[tensor]; }
  /// The node of a group whose variable says in which state the group reads the tensor.
  int ReaderOf(int group, size_t tensor) const { return TiedNode(group, reading_[tensor]); }
  int WriterOf(int group, size_t tensor) const { return TiedNode(group, writing_[tensor]); }
  int OwnerOf(int group) const;
  int StateRead(const Use& use, int choice) const;
  int StateWritten(const Use& use, int choice) const;

 private:
  void FindEnds();
  /// One of `ends` that the group holds, else its owner.
  int TiedNode(int group, const std::set<int>& ends) const;

  const Problem& problem_;
  std::vector<std::vector<Use>> readers_, writers_;  // by tensor
  /// By tensor, the nodes that read and write it as groups of their own; empty unless spread.
  std::vector<std::set<int>> reading_, writing_;
};

}  // namespace fettle::solver
