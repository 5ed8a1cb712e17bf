#include "analysis/transparency.h"

#include <algorithm>
#include <optional>

#include "av/alpha.h"
#include "av/input.h"
#include "av/pixels.h"
#include "picture/samples.h"

namespace fettle::enhance {
namespace {

bool IsOpaque(const Plane& alpha) {
  const int white = (1 << alpha.depth) - 1;
  const int least = white - (white >> 8);  // of 8 bits that were shifted, too
  bool opaque = true;
  ForSampleType(alpha.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int y = 0; y < alpha.height && opaque; ++y) {
      const Sample* row = alpha.row<Sample>(y);
      opaque = std::all_of(row, row + alpha.width, [&](Sample value) { return value >= least; });
    }
  });
  return opaque;
}

}  // namespace

bool ShowsThrough(const std::filesystem::path& path, Cut cut) {
  Input input(path, cut);
  Decoder decoder(input, 0);
  std::optional<Converter> converter;
  int looked_at = 0;
  bool transparent = false;
  const auto look = [&](FramePtr frame) {
    if (transparent) return;
    const auto format = static_cast<AVPixelFormat>(frame->format);
    if (!HasAlpha(format)) return;
    if (!converter)
      converter.emplace(WorkingFormat(format, DepthOf(format) > 8), frame->width, frame->height);
    transparent =
        ++looked_at > kMostLookedAt || !IsOpaque(PlaneOf(*converter->Convert(std::move(frame)), 3));
  };
  while (!transparent) {
    const PacketPtr packet = input.Read();
    if (packet != nullptr && packet->stream_index != input.video_index()) continue;
    decoder.Decode(packet.get(), look);
    if (packet == nullptr) break;
  }
  return transparent;
}

}  // namespace fettle::enhance
