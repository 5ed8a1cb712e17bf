// What kernels over rows.clh share.
#pragma once

#include "kernels/cpu/layout/extents.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {

/// Whether rows are worth a work-group each: long ones that no neighbour is beside in memory.
inline bool NeedsGroups(const RowExtents& extents) {
  return extents.row > 32 && extents.inner < 16;
}

/// ROW_ITEMS and the sizes of a launch over the rows of `extents`.
inline WorkSizes RowSizes(const RowExtents& extents, BuildOptions& options) {
  const int64_t rows = extents.outer * extents.inner;
  const bool groups = NeedsGroups(extents);
  options.Define("ROW_ITEMS", groups ? static_cast<int64_t>(kGroupItems) : 1);
  if (!groups) return PlaceSizes(rows);
  return {.gws = {kGroupItems, static_cast<size_t>(rows), 1}, .lws = {kGroupItems, 1, 1}};
}

}  // namespace fettle::kernels
