#include "alert/overlay.h"

#include <algorithm>
#include <cmath>

#include "picture/samples.h"

namespace fettle::enhance {
namespace {

/// BT.601 studio red in 8 bits; other matrices and full range show it as another strong red.
constexpr float kRed[3] = {81, 90, 240};
constexpr float kLight = 235;
/// A line for every so many rows of the frame.
constexpr int kRowsForLine = 360;

/// Samples of a plane from one corner to another, the latter not included.
struct Area {
  int left, top, right, bottom;
};

void Blend(const Plane& plane, Area area, float value, float opacity) {
  area = {std::max(area.left, 0), std::max(area.top, 0), std::min(area.right, plane.width),
          std::min(area.bottom, plane.height)};
  const float level = value * WhiteOf(plane.depth) / 255;
  ForSampleType(plane.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int y = area.top; y < area.bottom; ++y)
      for (int x = area.left; x < area.right; ++x) {
        Sample& one = plane.row<Sample>(y)[x];
        const auto before = static_cast<float>(one);
        one = static_cast<Sample>(before + opacity * (level - before) + 0.5f);
      }
  });
}

/// Of a ring `line` wide around `inside`; both of luma, in a plane that is shrunk by shifts: each
/// of its samples that has a part of the ring.
void BlendRing(const Plane& plane, Area inside, int line, int shift_x, int shift_y, float value,
               float opacity) {
  const auto up = [](int length, int shift) { return -(-length >> shift); };
  const Area in{up(inside.left, shift_x), up(inside.top, shift_y), inside.right >> shift_x,
                inside.bottom >> shift_y};
  const Area out{(inside.left - line) >> shift_x, (inside.top - line) >> shift_y,
                 up(inside.right + line, shift_x), up(inside.bottom + line, shift_y)};
  Blend(plane, {out.left, out.top, out.right, in.top}, value, opacity);
  Blend(plane, {out.left, in.bottom, out.right, out.bottom}, value, opacity);
  Blend(plane, {out.left, in.top, in.left, in.bottom}, value, opacity);
  Blend(plane, {in.right, in.top, out.right, in.bottom}, value, opacity);
}

}  // namespace

void DrawBoxes(AVFrame& frame, const std::vector<Box>& boxes, int scale, double opacity) {
  if (boxes.empty() || opacity <= 0) return;
  if (av_frame_make_writable(&frame) < 0) throw std::bad_alloc();
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const int line = std::max(1, (frame.height + kRowsForLine / 2) / kRowsForLine);
  const int planes = PlaneCount(frame) < 3 ? 1 : 3;
  for (const Box& box : boxes) {
    const auto at = [&](float length) {
      return static_cast<int>(std::lround(length * static_cast<float>(scale)));
    };
    const Area inside{at(box.x) - line, at(box.y) - line, at(box.x + box.width) + line,
                      at(box.y + box.height) + line};
    for (int index = 0; index < planes; ++index)
      BlendRing(PlaneOf(frame, index), inside, line, index > 0 ? desc->log2_chroma_w : 0,
                index > 0 ? desc->log2_chroma_h : 0, planes == 1 ? kLight : kRed[index],
                static_cast<float>(opacity));
  }
}

}  // namespace fettle::enhance
