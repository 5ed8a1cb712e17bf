// Masks at a frame's size.
#pragma once

#include "people/maps.h"

namespace fettle::enhance {

/// Shares at the luma's size whose outline follows the luma's edges: the fast guided filter (He,
/// Sun: Fast Guided Filter, arXiv 1505.00996; He, Sun, Tang: Guided Image Filtering, TPAMI 2013),
/// its linear models fitted at the map's size. Belongs to one thread, whose memory it keeps.
class Outline {
 public:
  void Fit(const Map& shares, const Plane& luma, Map& alpha);

 private:
  void Models(const Map& shares);

  std::vector<float> guide_, slope_, offset_, products_, squares_, line_, row_;
};

/// 255 for each sample near which the cover is not 0: what bilinear interpolation would touch.
void Widen(const Map& cover, int width, int height, Map& covered);

/// Means of what lies in each place, for planes of fewer samples.
void Shrink(const Map& from, int width, int height, Map& to);

}  // namespace fettle::enhance
