#include "kernels/cpu/winograd/filters.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/gemm/pack.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Points of a slice: with 32 columns a megabyte.
constexpr int64_t kSlicePoints = 8192;

/// The taps of one panel of output channels, from channel `first` on.
void PackTaps(const WinogradPanels& p, const Constant& weights, int64_t first, float* out) {
  const int64_t filters = std::min(p.nr, p.oc - first), row = p.ic * 9;
  std::vector<float> filter(row);
  std::fill_n(out, p.panel_taps(), 0.0f);
  for (int64_t n = 0; n < filters; ++n) {
    ReadFloats(weights, (first + n) * row, row, filter.data());
    for (int64_t c = 0; c < p.ic; ++c) {
      const int64_t in_plane = p.ic / p.depth, plane = c / in_plane;
      const float* taps = &filter[(c % in_plane * p.depth + plane) * 9];
      for (int64_t i = 0; i < 9; ++i) out[(c * 9 + i) * p.nr + n] = taps[i];
    }
  }
}

}  // namespace

void PackWinogradFilters(const WinogradPanels& panels, const Constant& weights, bool from_taps,
                         float* out) {
  const int64_t taps = panels.panel_taps();
  std::vector<float> panel(from_taps ? 0 : taps);
  for (int64_t first = 0; first < panels.oc; first += panels.nr) {
    if (from_taps) {
      PackTaps(panels, weights, first, out + first / panels.nr * taps);
      continue;
    }
    PackTaps(panels, weights, first, panel.data());
    panels.form.filters({.taps = panel.data(),
                         .channels = panels.ic,
                         .columns = panels.nr,
                         .out = out + first * panels.ic,
                         .point_stride = panels.point_elements()});
  }
}

int64_t WinogradSlice(const WinogradPanels& panels) {
  const int64_t most = kSlicePoints / panels.form.points() / 16 * 16;
  return RoundUp(CeilDiv(panels.ic, CeilDiv(panels.ic, most)), 16);
}

}  // namespace fettle::kernels
