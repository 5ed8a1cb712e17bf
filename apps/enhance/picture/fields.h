// Interlaced frames: lines in turns of two fields, the second half a frame later than the first.
#pragma once

#include "av/av.h"

namespace fettle::enhance {

/// What the frame says of itself.
bool IsInterlaced(const AVFrame& frame);
bool IsTopFirst(const AVFrame& frame);
void SetInterlaced(AVFrame& frame, bool interlaced, bool top_first = false);

/// Makes whole frames, of the time of their first field, whose lines stay. Lines of the second one
/// are made again: along edges of the first field, within what both fields and the frame before
/// allow, so that what stands still keeps all of its lines. Belongs to one thread.
class Deinterlacer {
 public:
  /// `all`: also frames that are not marked as interlaced.
  explicit Deinterlacer(bool all) : all_(all) {}
  /// Takes planar YUV in the order of time. Frames that are whole pass.
  FramePtr Next(FramePtr frame);

 private:
  const bool all_;
  FramePtr last_;  // as it came
};

}  // namespace fettle::enhance
