#include "picture/fields.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "picture/samples.h"

namespace fettle::enhance {
namespace {

/// Columns that slopes reach to either side.
constexpr int kReach = 3;

/// Rows around one of the second field: of the frame, and of the one before.
template <typename Sample>
struct Rows {
  const Sample *above, *below, *far_above, *far_below;  // of the first field
  const Sample *own, *up, *down;                        // of the second
};

template <typename Sample>
Rows<Sample> RowsAt(const Plane& plane, int y) {
  const auto row = [&](int at, int instead) -> const Sample* {
    return plane.row<Sample>(at >= 0 && at < plane.height ? at : instead);
  };
  const int above = y > 0 ? y - 1 : y + 1, below = y + 1 < plane.height ? y + 1 : y - 1;
  return {row(above, y), row(below, y), row(y - 3, above), row(y + 3, below),
          row(y, y),     row(y - 2, y), row(y + 2, y)};
}

/// Bytes in 16 bits, as processors have vectors of those.
template <typename Sample>
using Wide = std::conditional_t<sizeof(Sample) == 1, int16_t, int>;

template <typename T>
T Apart(T a, T b) {
  return static_cast<T>(a > b ? a - b : b - a);
}

/// How far the rows above and below differ along a slope, on three columns.
template <typename Sample, int kSlope>
Wide<Sample> Differ(const Sample* above, const Sample* below, int x) {
  using W = Wide<Sample>;
  const auto at = [&](int i) { return Apart<W>(above[x + i + kSlope], below[x + i - kSlope]); };
  return static_cast<W>(at(-1) + at(0) + at(1));
}

/// Takes the slope where it differs less, and the next steeper one only behind it.
template <typename Sample, int kSide>
void TrySlopes(const Sample* above, const Sample* below, int x, Wide<Sample>& least,
               Wide<Sample>& value) {
  using W = Wide<Sample>;
  // Known before they are chosen, so that nothing is read under a condition.
  const W mean = static_cast<W>((above[x + kSide] + below[x - kSide]) >> 1);
  const W steep_mean = static_cast<W>((above[x + 2 * kSide] + below[x - 2 * kSide]) >> 1);
  const W slight = Differ<Sample, kSide>(above, below, x);
  const W steep = Differ<Sample, 2 * kSide>(above, below, x);
  const bool takes = slight < least, takes_steep = takes & (steep < slight);
  least = takes_steep ? steep : takes ? slight : least;
  value = takes_steep ? steep_mean : takes ? mean : value;
}

/// Between the rows above and below, along the slope on which they differ least; straight down by a
/// cubic through four rows.
template <typename Sample>
Wide<Sample> AlongEdge(const Rows<Sample>& rows, int x) {
  using W = Wide<Sample>;
  const Sample *above = rows.above, *below = rows.below;
  W least = static_cast<W>(Differ<Sample, 0>(above, below, x) - 1);
  const W near = static_cast<W>(above[x] + below[x]);
  const W far = static_cast<W>(rows.far_above[x] + rows.far_below[x]);
  W value = static_cast<W>((5 * near - far + 4) >> 3);
  TrySlopes<Sample, -1>(above, below, x, least, value);
  TrySlopes<Sample, 1>(above, below, x, least, value);
  return value;
}

/// What both fields and the frame before say of one sample, and how far it may be from that.
template <typename Sample>
Wide<Sample> Bounded(Wide<Sample> value, const Rows<Sample>& now, const Rows<Sample>& last, int x) {
  using W = Wide<Sample>;
  const W above = now.above[x], below = now.below[x];
  const W middle = static_cast<W>((last.own[x] + now.own[x]) >> 1);
  const W moved = static_cast<W>(Apart<W>(last.own[x], now.own[x]) >> 1);
  const W around =
      static_cast<W>((Apart<W>(last.above[x], above) + Apart<W>(last.below[x], below)) >> 1);
  const W up = static_cast<W>(((last.up[x] + now.up[x]) >> 1) - above);
  const W down = static_cast<W>(((last.down[x] + now.down[x]) >> 1) - below);
  const W to_below = static_cast<W>(middle - below), to_above = static_cast<W>(middle - above);
  const W most = std::max(std::max(to_below, to_above), std::min(up, down));
  const W least = std::min(std::min(to_below, to_above), std::max(up, down));
  const W reach = std::max(std::max(moved, around), std::max(least, static_cast<W>(-most)));
  return std::min(std::max(value, static_cast<W>(middle - reach)), static_cast<W>(middle + reach));
}

template <typename Sample>
void Remake(const Rows<Sample>& now, const Rows<Sample>& last, Sample* to, int width,
            Wide<Sample> most) {
  using W = Wide<Sample>;
  // By pieces, which no row shares memory with, so that the compiler may take vectors.
  constexpr int kPiece = 512;
  std::array<W, kPiece> made;
  const auto plain = [&](int x) { return static_cast<W>((now.above[x] + now.below[x]) >> 1); };
  for (int first = 0; first < width; first += kPiece) {
    const int count = std::min(kPiece, width - first);
    const int begin = std::min(std::max(kReach - first, 0), count);
    const int end = std::max(begin, std::min(count, width - kReach - first));
    for (int i = begin; i < end; ++i) made[i] = AlongEdge(now, first + i);
    for (int i = 0; i < begin; ++i) made[i] = plain(first + i);
    for (int i = end; i < count; ++i) made[i] = plain(first + i);
    for (int i = 0; i < count; ++i) made[i] = Bounded(made[i], now, last, first + i);
    for (int i = 0; i < count; ++i)
      to[first + i] = static_cast<Sample>(std::min(std::max(made[i], W{0}), most));
  }
}

/// Without a frame before: the second field's sample where it lies between those around it.
template <typename Sample>
void RemakeAlone(const Rows<Sample>& now, Sample* to, int width) {
  for (int x = 0; x < width; ++x) {
    const Sample least = std::min(now.above[x], now.below[x]);
    const Sample most = std::max(now.above[x], now.below[x]);
    to[x] = std::min(std::max(now.own[x], least), most);
  }
}

void RemakePlane(const Plane& from, const Plane* last, const Plane& to, bool top_first) {
  if (from.height < 2) return;
  ForSampleType(from.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int y = top_first ? 1 : 0; y < from.height; y += 2) {
      const Rows<Sample> now = RowsAt<Sample>(from, y);
      if (last != nullptr)
        Remake(now, RowsAt<Sample>(*last, y), to.row<Sample>(y), from.width,
               static_cast<Wide<Sample>>((1 << from.depth) - 1));
      else
        RemakeAlone(now, to.row<Sample>(y), from.width);
    }
  });
}

}  // namespace

bool IsInterlaced(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_INTERLACED;
#else
  return frame.interlaced_frame != 0;
#endif
}

bool IsTopFirst(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  return frame.top_field_first != 0;
#endif
}

void SetInterlaced(AVFrame& frame, bool interlaced, bool top_first) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
  frame.flags |= interlaced ? AV_FRAME_FLAG_INTERLACED : 0;
  frame.flags |= top_first ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0;
#else
  frame.interlaced_frame = interlaced ? 1 : 0;
  frame.top_field_first = top_first ? 1 : 0;
#endif
}

FramePtr Deinterlacer::Next(FramePtr frame) {
  FramePtr last = std::move(last_);
  last_.reset(av_frame_clone(frame.get()));
  if (last_ == nullptr) throw std::bad_alloc();
  const bool marked = IsInterlaced(*frame);
  if (!marked && !all_) return frame;
  const bool fits = last != nullptr && last->width == frame->width &&
                    last->height == frame->height && last->format == frame->format;
  // Most are, where nobody says so.
  const bool top_first = !marked || IsTopFirst(*frame);
  FramePtr result = NewFrameLike(*frame, frame->width, frame->height);
  CheckAv(av_frame_copy(result.get(), frame.get()), "a frame");
  for (int index = 0; index < PlaneCount(*frame); ++index) {
    const Plane before = fits ? PlaneOf(*last, index) : Plane{};
    RemakePlane(PlaneOf(*frame, index), fits ? &before : nullptr, PlaneOf(*result, index),
                top_first);
  }
  SetInterlaced(*result, false);
  return result;
}

}  // namespace fettle::enhance
