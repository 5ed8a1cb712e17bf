// Pixel formats: which of them the steps work on, and the way to and from the others.
#pragma once

#include "av/av.h"

namespace fettle::enhance {

/// What the frames of a stream are beside their size.
struct Colour {
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVChromaLocation siting = AVCHROMA_LOC_UNSPECIFIED;
};
Colour ColourOf(const AVFrame& frame);

/// Planes of Y, or of Y, U, V and maybe alpha, in native bytes or 16-bit words: what steps take.
bool IsPlanarYuv(AVPixelFormat format);
/// `format` where it is planar YUV (yuvj420p as yuv420p, whose range is told apart), else the
/// nearest such format: 16 bits a sample where `deep`, to be converted back, else as many as it
/// has. Alpha, where the format may have any, is kept.
AVPixelFormat WorkingFormat(AVPixelFormat format, bool deep);
/// The same planes but alpha; `format` itself where it has none.
AVPixelFormat WithoutAlpha(AVPixelFormat format);
/// The same format with whole chroma, for odd sizes that codecs do not take otherwise.
AVPixelFormat WithWholeChroma(AVPixelFormat format);
int DepthOf(AVPixelFormat format);
/// The same planes with `depth` bits a sample; `format` itself where it has as many.
AVPixelFormat WithDepth(AVPixelFormat format, int depth);
/// "yuv420p10le".
std::string NameOf(AVPixelFormat format);

/// Converts frames to one format and size; those that have it pass. The matrix and range are the
/// frame's own: where it names none, BT.709 from 720 lines on and BT.601 below, studio range unless
/// RGB. Belongs to one thread.
class Converter {
 public:
  Converter(AVPixelFormat format, int width, int height)
      : format_(format), width_(width), height_(height) {}
  /// Keeps properties; throws Failure where there is no way.
  FramePtr Convert(FramePtr frame);

 private:
  void Prepare(const AVFrame& from);

  AVPixelFormat format_;
  int width_, height_;
  ScalerPtr scaler_;
  AVPixelFormat from_format_ = AV_PIX_FMT_NONE;
  int from_width_ = 0, from_height_ = 0;
};

}  // namespace fettle::enhance
