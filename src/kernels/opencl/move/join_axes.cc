#include "kernels/opencl/move/join_axes.h"

#include <algorithm>

namespace fettle::kernels {

std::vector<CopyAxis> JoinAxes(std::vector<CopyAxis> axes) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.extent == 1; });
  std::stable_sort(axes.begin(), axes.end(), [](const CopyAxis& a, const CopyAxis& b) {
    return a.dst_stride > b.dst_stride;
  });
  for (size_t i = axes.size(); i-- > 1;) {
    const CopyAxis& inner = axes[i];
    CopyAxis& outer = axes[i - 1];
    if (outer.src_stride != inner.src_stride * inner.extent ||
        outer.dst_stride != inner.dst_stride * inner.extent)
      continue;
    outer = {outer.extent * inner.extent, inner.src_stride, inner.dst_stride};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return axes;
}

bool IsNested(const std::vector<CopyAxis>& axes) {
  int64_t reach = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].dst_stride <= reach) return false;
    reach += (axes[i].extent - 1) * axes[i].dst_stride;
  }
  return true;
}

}  // namespace fettle::kernels
