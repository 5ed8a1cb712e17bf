#include "picture/samples.h"

#include <algorithm>

namespace fettle::enhance {

Plane PlaneOf(const AVFrame& frame, int index) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const bool chroma = index == 1 || index == 2;
  return {.data = frame.data[index],
          .stride = frame.linesize[index],
          .width = chroma ? AV_CEIL_RSHIFT(frame.width, desc->log2_chroma_w) : frame.width,
          .height = chroma ? AV_CEIL_RSHIFT(frame.height, desc->log2_chroma_h) : frame.height,
          .depth = desc->comp[0].depth};
}

int PlaneCount(const AVFrame& frame) {
  return av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))->nb_components;
}

void ReadRows(const Plane& plane, int y, int count, float* values) {
  const float scale = 1 / WhiteOf(plane.depth);
  const int width = plane.width;
  ForSampleType(plane.depth, [&](auto sample) {
    for (int row = y; row < y + count; ++row, values += width) {
      const auto* from = plane.row<decltype(sample)>(row);
      for (int x = 0; x < width; ++x) values[x] = static_cast<float>(from[x]) * scale;
    }
  });
}

double WriteRows(const float* values, int y, int count, const Plane& plane) {
  const float scale = WhiteOf(plane.depth);
  const auto most = static_cast<float>((1 << plane.depth) - 1);
  const int width = plane.width;
  double total = 0;
  ForSampleType(plane.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int row = y; row < y + count; ++row, values += width) {
      Sample* to = plane.row<Sample>(row);
      // Several sums, so that the compiler may add vectors.
      float sums[8] = {};
      for (int x = 0; x < width; ++x) sums[x % 8] += values[x];
      for (const float sum : sums) total += sum;
      for (int x = 0; x < width; ++x) {
        const float scaled = values[x] * scale + 0.5f;
        to[x] = static_cast<Sample>(static_cast<int>(std::min(std::max(scaled, 0.0f), most)));
      }
    }
  });
  return total;
}

double MeanOf(const Plane& plane) {
  uint64_t total = 0;
  ForSampleType(plane.depth, [&](auto sample) {
    for (int y = 0; y < plane.height; ++y) {
      const auto* row = plane.row<decltype(sample)>(y);
      uint32_t sum = 0;
      for (int x = 0; x < plane.width; ++x) sum += row[x];
      total += sum;
    }
  });
  return static_cast<double>(total) / WhiteOf(plane.depth) / plane.width / plane.height;
}

}  // namespace fettle::enhance
