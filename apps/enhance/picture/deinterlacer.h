// Interlaced frames: lines in turns of two fields, the second half a frame later than the first.
#pragma once

#include "av/av.h"

namespace fettle::enhance {

/// Makes whole frames, of the time of their first field, by FFmpeg's filter bwdif. It looks at the
/// frames before and after, so results come one frame later. Belongs to one thread.
class Deinterlacer {
 public:
  /// `all`: also frames that are not marked as interlaced, the top field first.
  explicit Deinterlacer(bool all) : all_(all) {}
  /// Takes planar YUV in the order of time, gives the frame before; null for the first. Frames that
  /// are whole come out as they are.
  FramePtr Next(FramePtr frame);
  /// The last frame, null where there was none. The next one begins anew.
  FramePtr Finish();

 private:
  bool Makes(const AVFrame& frame) const;
  bool Configure(AVPixelFormat format, int width, int height);
  void Open(const AVFrame& frame);
  void Feed(const AVFrame& frame);
  FramePtr Made();
  FramePtr Take();

  const bool all_;
  FilterGraphPtr graph_;
  AVFilterContext *source_ = nullptr,
                  *sink_ = nullptr;         // the graph's; null: it takes no such frame
  AVPixelFormat format_ = AV_PIX_FMT_NONE;  // as the graph calls it
  FramePtr held_;                           // the last one, as it came
  bool first_ = true;                       // it has none before
};

/// One frame without others: the second field's sample where it lies between those around it, else
/// the nearest of them.
FramePtr DeinterlacedAlone(const AVFrame& frame);

}  // namespace fettle::enhance
