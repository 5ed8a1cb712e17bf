#include "kernels/move/compose.h"

#include <algorithm>
#include <utility>

namespace fettle::kernels {
namespace {

/// Places of the tensor between two copies, as indices along the axes in which it was written.
class Between {
 public:
  /// Axes by falling stride, from the outermost one; none where they do not fill the tensor.
  static std::optional<Between> Of(const Piece& earlier) {
    if (earlier.dst_offset != 0) return std::nullopt;
    Between made;
    made.axes_ = earlier.axes;
    std::erase_if(made.axes_, [](const CopyAxis& axis) { return axis.extent == 1; });
    std::ranges::sort(made.axes_, std::ranges::greater(), &CopyAxis::dst_stride);
    int64_t stride = 1;
    for (size_t j = made.axes_.size(); j-- > 0; stride *= made.axes_[j].extent)
      if (made.axes_[j].dst_stride != stride) return std::nullopt;
    made.reached_.resize(made.axes_.size());
    return made;
  }

  /// The source's elements in `place`, of which `times` steps are taken at most.
  int64_t Steps(int64_t place, int64_t times) {
    int64_t steps = 0;
    for (size_t j = 0; j < axes_.size(); ++j) {
      const int64_t index = place / axes_[j].dst_stride;
      place -= index * axes_[j].dst_stride;
      reached_[j] += index * times;
      steps += index * axes_[j].src_stride;
    }
    return steps;
  }

  /// Cuts an axis that walks beyond the end of one of the tensor's and there on to the next outer
  /// one: the inner part stays in `axis`, the outer one is returned.
  std::optional<CopyAxis> Cut(CopyAxis& axis) const {
    for (size_t j = 1; j < axes_.size(); ++j) {
      const CopyAxis& of = axes_[j];
      const int64_t step = axis.src_stride / of.dst_stride;
      if (axis.src_stride % of.dst_stride != 0 || step == 0 || step >= of.extent) continue;
      const int64_t inside = of.extent / step;
      if (axis.extent <= inside || of.extent % step != 0 || axis.extent % inside != 0) return {};
      const CopyAxis outer{axis.extent / inside, axis.src_stride * inside,
                           axis.dst_stride * inside};
      axis.extent = inside;
      return outer;
    }
    return {};
  }

  /// Whether all steps together stay inside each axis, so that none carries into the next.
  bool IsInside() const {
    for (size_t j = 0; j < axes_.size(); ++j)
      if (reached_[j] >= axes_[j].extent) return false;
    return true;
  }

 private:
  std::vector<CopyAxis> axes_;
  std::vector<int64_t> reached_;  // the largest index of each
};

}  // namespace

std::optional<Piece> Compose(const Piece& earlier, const Piece& later) {
  std::optional<Between> between = Between::Of(earlier);
  if (!between || later.src_offset < 0) return std::nullopt;
  Piece made{.source = earlier.source,
             .output = later.output,
             .src_offset = earlier.src_offset + between->Steps(later.src_offset, 1),
             .dst_offset = later.dst_offset,
             .axes = {}};
  std::vector<CopyAxis> left = later.axes;
  while (!left.empty()) {
    CopyAxis axis = left.back();
    left.pop_back();
    if (axis.src_stride < 0) return std::nullopt;
    if (const std::optional<CopyAxis> outer = between->Cut(axis)) left.push_back(*outer);
    axis.src_stride = between->Steps(axis.src_stride, axis.extent - 1);
    made.axes.push_back(axis);
  }
  if (!between->IsInside()) return std::nullopt;
  return made;
}

}  // namespace fettle::kernels
