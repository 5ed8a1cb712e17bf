// Scale and bias of normalisations: constants, packed as fp32, or operands of the group.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A vector of fp32 that a kernel reads along rows or channels.
class VectorOperand {
 public:
  VectorOperand() = default;
  /// Value `id` of the group; its pack, if it is a constant, is appended to `packs`, broadcast to
  /// `shape`. Absent operands stay absent; others have the size of `shape` already.
  VectorOperand(const ir::Graph& group, ir::ValueId id, const Shape& shape,
                std::vector<PackRequest>& packs);

  /// Null where absent.
  const float* At(const LaunchArgs& args) const;

 private:
  int input_ = -1, pack_ = -1;
};

/// The one node of a normalisation: one used output, float types. `op` names are the caller's.
/// Fails with kUnsupported and the reason.
Status CheckNormNode(const ir::Graph& group);

/// States in fp32: the first operand and the output in `layout`, vectors row-major.
StateAssignment NormStates(const ir::Graph& group, const Layout& layout);

}  // namespace fettle::kernels
