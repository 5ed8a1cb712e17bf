// Kernels of which those for other extents are made by arithmetic.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A kernel that others are made of without reading their groups.
class TakesExtents {
 public:
  virtual ~TakesExtents() = default;
  /// What would be prepared for `problem` with the usual parameters; its group differs as that of
  /// MatchesNear, with the same constants. Asks for the same packed constants. Null where the group
  /// has to be matched.
  virtual std::unique_ptr<PreparedKernel> At(const Problem& problem,
                                             const Device& device) const = 0;
  /// Whether At takes other constants too, as it reads those of the group: where nothing is packed.
  virtual bool takes_constants() const { return false; }
  /// Whether At takes extents of 1 too where this kernel's are none, and the other way round.
  virtual bool takes_ones() const { return false; }
  /// Makes this kernel what At makes. False: it is good for nothing any more.
  virtual bool MoveTo(const Problem& /*problem*/, const Device& /*device*/) { return false; }
};

/// TakesExtents of kernels whose copies move.
template <typename Kernel>
class MovesToExtents : public TakesExtents {
 public:
  std::unique_ptr<PreparedKernel> At(const Problem& problem, const Device& device) const final {
    auto kernel = std::make_unique<Kernel>(static_cast<const Kernel&>(*this));
    if (!kernel->MoveTo(problem, device)) return nullptr;
    return kernel;
  }
  bool MoveTo(const Problem& problem, const Device& device) override = 0;
};

/// Whether the first output of `problem` has pad lanes.
inline bool HasPads(const Problem& problem) {
  const Shape& shape = problem.shape(problem.group->outputs[0]);
  const Layout& layout = problem.states.outputs[0].layout;
  return !layout.blocks.empty() && PhysicalElements(shape, layout) != shape.elements();
}

}  // namespace fettle::kernels
