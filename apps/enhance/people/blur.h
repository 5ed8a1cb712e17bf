// What becomes of what is not to be seen clearly: rooms are blurred, people become a mosaic.
#pragma once

#include "people/maps.h"

namespace fettle::enhance {

/// Blurs all but people. Belongs to one thread, whose memory it keeps.
class Backdrop {
 public:
  /// In place: what `alpha` (of the plane's size, 255: a person) leaves becomes the mean of the
  /// room around it, about as a Gaussian of `sigma` samples weighs it. People have no part in that
  /// mean, so that no colour of theirs surrounds them (normalised convolution: Knutsson, Westin,
  /// CVPR 1993).
  void Blur(const Map& alpha, double sigma, const Plane& plane);

 private:
  void Gather(const Map& alpha, const Plane& plane);
  void Smooth(std::vector<float>& grid, int radius);

  int cell_ = 1, width_ = 0, height_ = 0;  // samples of a cell's side; cells
  std::vector<float> sums_, weights_, row_;
};

/// In place: each sample where `covered` (of the plane's size) is not 0 becomes its block's mean.
void Mosaic(const Map& covered, int block_width, int block_height, const Plane& plane);

/// The side of the blocks, in samples of a `width` x `height` frame, that leaves nobody to be
/// known: a third of the widest covered head, a sixth of the widest covered person, and never less
/// than a forty-eighth of the frame's longer side or 8.
int BlockSide(const Map& cover, const Map& heads, int width, int height);

}  // namespace fettle::enhance
