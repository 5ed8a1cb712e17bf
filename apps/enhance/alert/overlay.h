// Frames around boxes, drawn in a frame's own planes.
#pragma once

#include <vector>

#include "alert/find.h"

namespace fettle::enhance {

/// Draws a red frame (a light one without chroma) a little outside of each box, with `opacity`.
/// `scale` pixels of the frame are one pixel of the boxes. Makes the frame writable. Throws
/// std::bad_alloc.
void DrawBoxes(AVFrame& frame, const std::vector<Box>& boxes, int scale, double opacity);

}  // namespace fettle::enhance
