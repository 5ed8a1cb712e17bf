// Encoders in hardware that take frames in memory of their own.
#pragma once

#include "av/av.h"
#include "av/encoder_row.h"

namespace fettle::enhance {

/// Whether the row's encoder is a device's: never chosen by itself, as its bytes and its quality
/// depend on the device.
bool IsHardware(const EncoderRow& row);
/// Of frames that are given to it, for samples of `depth` bits; none: those that the codec names.
AVPixelFormat UploadFormat(const EncoderRow& row, int depth);

/// Frames of one size on their way to a device; none where the encoder takes those of the host.
class Uploads {
 public:
  /// Opens the device. Throws Failure (kExitUnsupported) where there is none.
  Uploads(const EncoderRow* row, AVCodecContext& codec);
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;
  FramePtr Take(FramePtr frame) const;

 private:
  AVBufferRef* device_ = nullptr;
  AVBufferRef* frames_ = nullptr;
};

}  // namespace fettle::enhance
