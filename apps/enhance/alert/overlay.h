// Frames around boxes, drawn in a frame's own planes.
#pragma once

#include <vector>

#include "alert/find.h"

namespace fettle::enhance {

/// Draws a red frame (a light one where there is no chroma) around each box, a little outside of
/// it, over the picture by `opacity`. Boxes are in pixels of which `scale` of the frame's are one.
/// The frame is made writable. Throws std::bad_alloc.
void DrawBoxes(AVFrame& frame, const std::vector<Box>& boxes, int scale, double opacity);

}  // namespace fettle::enhance
