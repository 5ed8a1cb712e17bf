// The filters of a Winograd convolution as its blocks read them: as points, or as taps that become
// points in a block.
#pragma once

#include <cstdint>

#include "kernels/cpu/winograd/transform.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// Weights [oc][ic / depth][depth][3][3] in panels of `nr` output channels, zero-padded. The
/// channels of each plane of the kernel follow those of the one before.
struct WinogradPanels {
  WinogradForm form;
  int64_t oc = 0, ic = 0, nr = 0;
  int64_t depth = 1;

  int64_t panels() const { return (oc + nr - 1) / nr; }
  int64_t padded_oc() const { return panels() * nr; }
  /// Floats of one panel of taps, [ic][9][nr].
  int64_t panel_taps() const { return ic * 9 * nr; }
  /// Floats of one point of all panels, [panel][ic][nr].
  int64_t point_elements() const { return padded_oc() * ic; }
  /// Floats of all of them.
  int64_t elements(bool from_taps) const {
    return from_taps ? panels() * panel_taps() : form.points() * point_elements();
  }
};

/// Writes panels.elements(from_taps) floats: [panel][ic][9][nr], or [point][panel][ic][nr].
void PackWinogradFilters(const WinogradPanels& panels, const Constant& weights, bool from_taps,
                         float* out);

/// Input channels that become points at a time: those of a panel stay in the second-level cache,
/// and sums are long enough to pay for being added to memory. A multiple of 16 that follows from
/// the form and the problem alone, since sums are cut there.
int64_t WinogradSlice(const WinogradPanels& panels);

}  // namespace fettle::kernels
