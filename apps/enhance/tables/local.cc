#include "tables/local.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fettle::enhance {
namespace {

/// What the vectors' multiplications lose at most, in 1/256 levels.
constexpr int kMostLost = 8;

/// Bayer's order of 8x8: bits of x ^ y and y from the lowest on.
int Bayer(int x, int y) {
  int order = 0;
  for (int bit = 0; bit < 3; ++bit) {
    const int a = (x ^ y) >> bit & 1, b = y >> bit & 1;
    order |= (2 * a + b) << (4 - 2 * bit);
  }
  return order;
}

/// What is added before the fraction is cut: 1/256 levels, for results of `depth` bits.
std::array<uint16_t, kSpan> Rounding(int y, int depth, bool dither) {
  const int unit = 256 >> (depth - 8);
  std::array<uint16_t, kSpan> rounding;
  for (int x = 0; x < kSpan; ++x) {
    const int pattern = kMostLost + Bayer(x & 7, y & 7) * (unit - 2 * kMostLost) / 63;
    rounding[static_cast<size_t>(x)] =
        static_cast<uint16_t>(dither ? pattern : unit / 2 + kMostLost / 2);
  }
  return rounding;
}

/// The table's curve for a mean between its knots.
template <typename Take>
void CurveFor(const Table& table, float mean, Take&& take) {
  const float place = std::clamp(mean / kKnotLevels, 0.0f, kKnots - 1.001f);
  const auto knot = static_cast<size_t>(place);
  const float share = place - static_cast<float>(knot);
  for (size_t i = 0; i < kKnots; ++i)
    take(i, table[knot][i] + share * (table[knot + 1][i] - table[knot][i]));
}

uint16_t Fixed(float levels, int zero) {
  return static_cast<uint16_t>(
      std::clamp(levels * 256 + static_cast<float>(zero) + 0.5f, 0.0f, 65535.0f));
}

/// The curve at `place` (in segments), of 17 knots in fixed point.
float At(const std::array<uint16_t, 32>& curve, float place) {
  const auto knot = static_cast<size_t>(std::min(place, 15.99f));
  const float share = std::min(place, 16.0f) - static_cast<float>(knot);
  const float low = curve[knot], high = curve[knot + 1];
  return low + share * (high - low);
}

}  // namespace

void LocalTables::PlaceNodes(const Tables& tables, const Plane& luma) {
  light_ = LightGridOf(luma);
  nodes_.resize(light_.means.size());
  chroma_.assign(nodes_.size(), 1);
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const float mean = light_.means[n];
    Node& node = nodes_[n];
    node = {};
    if (tables.has_tone)
      CurveFor(tables.tone, mean, [&](size_t i, float level) { node.tone[i] = Fixed(level, 0); });
    if (tables.has_detail)
      CurveFor(tables.detail, mean,
               [&](size_t i, float change) { node.detail[i] = Fixed(change, kChangeZero); });
    if (tables.has_chroma) {
      const float place = std::clamp(mean / kKnotLevels, 0.0f, kKnots - 1.001f);
      const auto knot = static_cast<size_t>(place);
      chroma_[n] = tables.chroma[knot] + (place - static_cast<float>(knot)) *
                                             (tables.chroma[knot + 1] - tables.chroma[knot]);
    }
  }
}

void LocalTables::LumaOfBytes(const Tables& tables, const Plane& from, const Plane& to,
                              bool dither) {
  const int distance = tables.distance, width = from.width;
  const int whole = (width + kSpan - 1) / kSpan * kSpan;
  row_.resize(static_cast<size_t>(light_.across));
  sums_.assign(static_cast<size_t>(whole + 2 * distance), 0);
  std::vector<uint8_t> copy(static_cast<size_t>(whole));  // of rows that do not end with a span
  TableRow row{.sums = sums_.data() + distance,
               .nodes = row_.data(),
               .width = width,
               .cell = light_.cell,
               .distance = distance,
               .kinds = {tables.has_tone, tables.has_detail, tables.fine}};
  std::array<std::array<uint16_t, kSpan>, 8> rounding;
  for (int y = 0; y < 8; ++y) rounding[static_cast<size_t>(y)] = Rounding(y, to.depth, dither);
  for (int y = 0; y < from.height; ++y) {
    const Node* above = nodes_.data() + static_cast<ptrdiff_t>(y / light_.cell) * light_.across;
    // Light between nodes changes by a sixty-fourth a row: two rows share their curves.
    if (y % 2 == 0)
      BlendNodes(above, above + light_.across, light_.across,
                 (2 * (y % light_.cell) + 1) * 65535 / (2 * light_.cell), row.kinds, row_.data());
    row.from = from.row<uint8_t>(y);
    if (tables.has_detail) {
      uint16_t* sums = sums_.data() + distance;
      SumRows(from.row<uint8_t>(std::max(y - distance, 0)), row.from,
              from.row<uint8_t>(std::min(y + distance, from.height - 1)), width, sums);
      std::fill_n(sums - distance, distance, sums[0]);
      std::fill_n(sums + width, distance, sums[width - 1]);
    }
    if (whole != width) {
      std::memcpy(copy.data(), row.from, static_cast<size_t>(width));
      row.from = copy.data();
    }
    row.rounding = rounding[static_cast<size_t>(y % 8)];
    if (to.depth > 8) {
      RunRow(row, to.row<uint16_t>(y));
    } else {
      RunRow(row, to.row<uint8_t>(y));
    }
  }
}

template <typename Sample>
void LocalTables::Deep(const Tables& tables, const Plane& from, const Plane& to) {
  const float unit = 1.0f / static_cast<float>(1 << (from.depth - 8)), cell = light_.cell;
  const int most = (1 << to.depth) - 1, distance = tables.distance;
  const float knot = tables.fine ? 0.5f : 2.0f;
  for (int y = 0; y < from.height; ++y) {
    const Sample* rows[3] = {from.row<Sample>(std::max(y - distance, 0)), from.row<Sample>(y),
                             from.row<Sample>(std::min(y + distance, from.height - 1))};
    const Node* above = nodes_.data() + static_cast<ptrdiff_t>(y / light_.cell) * light_.across;
    const float down = static_cast<float>(y % light_.cell) / cell;
    const auto blended = [&](std::array<uint16_t, 32> Node::*curve, int x, float place) {
      const Node *top = above + x / light_.cell, *bottom = top + light_.across;
      const float across = static_cast<float>(x % light_.cell) / cell;
      const float left = At(top[0].*curve, place) * (1 - down) + At(bottom[0].*curve, place) * down;
      const float right =
          At(top[1].*curve, place) * (1 - down) + At(bottom[1].*curve, place) * down;
      return (left + (right - left) * across) / 256;
    };
    Sample* line = to.row<Sample>(y);
    for (int x = 0; x < from.width; ++x) {
      const float pixel = static_cast<float>(rows[1][x]) * unit;
      float level = tables.has_tone ? blended(&Node::tone, x, pixel / kKnotLevels) : pixel;
      if (tables.has_detail) {
        const int left = std::max(x - distance, 0), right = std::min(x + distance, from.width - 1);
        const auto across = [&](const Sample* row) { return row[left] + 2 * row[x] + row[right]; };
        const int around = across(rows[0]) + 2 * across(rows[1]) + across(rows[2]);
        const float difference = pixel - static_cast<float>(around) * unit / 16;
        const float change =
            blended(&Node::detail, x, std::abs(difference) / knot) - kChangeZero / 256.0f;
        level += std::copysign(1.0f, difference) * change;
      }
      line[x] =
          static_cast<Sample>(std::clamp(static_cast<int>(std::lround(level / unit)), 0, most));
    }
  }
}

void LocalTables::Chroma(const Plane& from, const Plane& to, const AVFrame& frame) const {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const int cell = light_.cell >> desc->log2_chroma_w;
  const int high = light_.cell >> desc->log2_chroma_h;
  std::vector<float> factors(static_cast<size_t>(light_.across));
  for (int y = 0; y < from.height; ++y) {
    const float* above = chroma_.data() + static_cast<ptrdiff_t>(y / high) * light_.across;
    const float down = static_cast<float>(y % high) / static_cast<float>(high);
    for (size_t node = 0; node < factors.size(); ++node)
      factors[node] = above[node] * (1 - down) + above[node + factors.size()] * down;
    if (from.depth == 8) {
      ScaleChroma(from.row<uint8_t>(y), from.width, factors.data(), cell, to.row<uint8_t>(y));
      continue;
    }
    for (int x = 0; x < from.width; x += cell) {
      const int count = std::min(cell, from.width - x);
      const float first = factors[static_cast<size_t>(x / cell)];
      const float second = factors[static_cast<size_t>(x / cell + 1)];
      const int grey = 1 << (from.depth - 1), most = 2 * grey - 1;
      const uint16_t* in = from.row<uint16_t>(y) + x;
      uint16_t* out = to.row<uint16_t>(y) + x;
      for (int i = 0; i < count; ++i) {
        const float scale =
            first + (second - first) * static_cast<float>(i) / static_cast<float>(cell);
        const float scaled = static_cast<float>(in[i] - grey) * scale;
        out[i] = static_cast<uint16_t>(
            std::clamp(grey + static_cast<int>(std::lround(scaled)), 0, most));
      }
    }
  }
}

namespace {

void CopyPlane(const Plane& from, const Plane& to) {
  const int shift = to.depth - from.depth;
  for (int y = 0; y < from.height; ++y) {
    if (shift == 0) {
      const size_t bytes = static_cast<size_t>(from.width) * (from.depth > 8 ? 2 : 1);
      std::memcpy(to.row<uint8_t>(y), from.row<uint8_t>(y), bytes);
      continue;
    }
    const uint8_t* in = from.row<uint8_t>(y);
    uint16_t* out = to.row<uint16_t>(y);
    for (int x = 0; x < from.width; ++x) out[x] = static_cast<uint16_t>(in[x] << shift);
  }
}

}  // namespace

void LocalTables::Run(const Tables& tables, const AVFrame& from, const AVFrame& to, bool dither) {
  const Plane luma = PlaneOf(from, 0), result = PlaneOf(to, 0);
  PlaceNodes(tables, luma);
  if (luma.depth > 8) {
    Deep<uint16_t>(tables, luma, result);
  } else {
    LumaOfBytes(tables, luma, result, dither);
  }
  for (int plane = 1; plane < PlaneCount(from); ++plane) {
    const Plane before = PlaneOf(from, plane), after = PlaneOf(to, plane);
    if (tables.has_chroma && plane < 3 && before.depth == after.depth) {
      Chroma(before, after, from);
    } else {
      CopyPlane(before, after);
    }
  }
}

}  // namespace fettle::enhance
