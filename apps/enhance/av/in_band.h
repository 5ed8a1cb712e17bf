// Parameter sets of video for containers that have no place of their own for them.
#pragma once

#include <memory>

#include "av/av.h"

extern "C" {
#include <libavcodec/bsf.h>
}

namespace fettle::enhance {

/// Puts what a decoder needs first before each key frame, where `container` has no header for it
/// and the codec has such sets; else packets pass.
class InBand {
 public:
  InBand(const AVOutputFormat& container, const AVCodecParameters& video, AVRational time_base);
  /// Throws Failure.
  PacketPtr Apply(PacketPtr packet);

 private:
  struct Free {
    void operator()(AVBSFContext* filter) const { av_bsf_free(&filter); }
  };
  std::unique_ptr<AVBSFContext, Free> filter_;
};

}  // namespace fettle::enhance
