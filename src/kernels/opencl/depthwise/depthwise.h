// What convolutions with one filter per channel share, of floats and of bytes.
#pragma once

#include <vector>

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {

/// Weights in the order [quad][tap][4].
FilterForm DepthwiseForm(const PixelConv& conv);

/// "columns" of a work-item, and the work-group.
std::vector<Tunable> DepthwiseTunables();
Params DepthwiseDefaults(const PixelConv& conv);

}  // namespace fettle::kernels
