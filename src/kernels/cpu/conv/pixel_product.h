// Products whose columns are the pixels of planes, which each task packs as panels.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// The parameter "panels" says how many panels of nr pixels a task takes.
struct PixelProduct {
  int64_t planes = 1;             // images times groups
  int64_t pixels = 0, depth = 0;  // of a plane; rows of a panel
  int64_t most = INT64_MAX;       // pixels of a task, if not measured otherwise

  /// Panels of a plane, at least one.
  int64_t panels() const;
  ParamSpace Space(int threads) const;
  /// Panels of a task: as many as `params` say, or as stay in a near cache.
  int64_t PanelsOf(const Params& params, int threads) const;
  int64_t UsualPanels(int threads) const;
  /// How many tasks share the rows of the product for the same pixels, where tasks take that many
  /// panels; each task packs the pixels again.
  int64_t SharesOfRows(int64_t panels_of_task, int lanes) const;
};

/// Writes `count` pixels of `inputs` planes that lie `plane` floats apart, from the first one at
/// `x`: [panel][input][nr], behind the inputs of a panel ones where `has_ones`.
void PackPixels(const float* x, int64_t plane, int64_t inputs, int64_t count, bool has_ones,
                float* out);

}  // namespace fettle::kernels
