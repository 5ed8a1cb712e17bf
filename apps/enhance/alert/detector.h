// Runs a detector of models/ on the slices of a frame.
#pragma once

#include <fettle/fettle.hpp>
#include <vector>

#include "alert/find.h"
#include "alert/slices.h"
#include "steps/networks.h"

namespace fettle::enhance {

/// The finds of one slice, in pixels of the frame: cells of the heat that no neighbour surpasses
/// and whose score, less 0.025 for each pixel of the longer side from 8 to 18, is at least `least`.
/// `values` are five planes of `grid.height / 4` x `grid.width / 4`: the logit of a centre, width
/// and height in units of 16 pixels, and the centre's offset in the cell
/// (training/alert/detector.py).
void AppendPeaks(const float* values, const SliceGrid& grid, SliceGrid::Place place, float least,
                 std::vector<Find>& finds);

/// For frames of one size. Belongs to one thread.
class Detector {
 public:
  Detector(const Network& network, int width, int height, float least);
  /// Boxes lie within the frame. Throws Failure where the network gives no numbers.
  std::vector<Find> Look(const AVFrame& frame);

 private:
  const SliceGrid grid_;
  const float least_;
  Session session_;
  Tensor luma_, chroma_, finds_;
};

}  // namespace fettle::enhance
