// Kernels that can be made for other extents by arithmetic, without matching the group again.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A prepared kernel from which kernels for other extents are made without reading their groups.
class TakesExtents {
 public:
  virtual ~TakesExtents() = default;
  /// The kernel for `problem` with the usual parameters. Its group may differ as MatchesNear says,
  /// and has the same constants. Needs the same packed constants. Null where the group has to be
  /// matched.
  virtual std::unique_ptr<PreparedKernel> At(const Problem& problem,
                                             const Device& device) const = 0;
  /// Whether At also takes groups with other constants. It then reads the group's; nothing is
  /// packed.
  virtual bool takes_constants() const { return false; }
  /// Whether At allows extents to become 1 or to stop being 1.
  virtual bool takes_ones() const { return false; }
  /// Changes this kernel into what At would make. False: the kernel is unusable afterwards.
  virtual bool MoveTo(const Problem& /*problem*/, const Device& /*device*/) { return false; }
};

/// TakesExtents for kernels that copy themselves and call MoveTo on the copy.
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
