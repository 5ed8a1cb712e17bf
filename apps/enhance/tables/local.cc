#include "tables/local.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tables/sums.h"

namespace fettle::enhance {
namespace {

/// How far ahead rows are fetched: those of a frame as decoders leave it are in no near cache.
constexpr int kRowsAhead = 8;

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

/// What is added before the fraction is cut, even samples first: 1/256 levels, for eight rows.
using Roundings = std::array<std::array<uint16_t, kSpan>, 8>;

Roundings MakeRoundings(int depth, bool dither) {
  const int unit = 256 >> (depth - 8);
  Roundings roundings;
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < kSpan; ++x) {
      const int pattern = kMostLost + Bayer(x & 7, y) * (unit - 2 * kMostLost) / 63;
      roundings[static_cast<size_t>(y)][static_cast<size_t>(kSpan / 2 * (x % 2) + x / 2)] =
          static_cast<uint16_t>(dither ? pattern : unit / 2 + kMostLost / 2);
    }
  return roundings;
}

/// For results of 8 or 10 bits.
const Roundings& RoundingsOf(int depth, bool dither) {
  static const Roundings kAll[2][2] = {{MakeRoundings(8, false), MakeRoundings(8, true)},
                                       {MakeRoundings(10, false), MakeRoundings(10, true)}};
  return kAll[depth > 8][dither];
}

/// Between which knots of the mean a mean is, and where.
struct MeanPlace {
  explicit MeanPlace(float mean) {
    const float place = std::clamp(mean / kKnotLevels, 0.0f, kKnots - 1.001f);
    knot = static_cast<size_t>(place);
    share = place - static_cast<float>(knot);
  }
  size_t knot;
  float share;
};

/// The table's curve at a place, 1/256 levels above `zero`.
void CurveAt(const Table& table, MeanPlace place, int zero, std::array<uint16_t, 32>& curve) {
  const Curve &low = table[place.knot], &high = table[place.knot + 1];
  const float rounding = static_cast<float>(zero) + 0.5f;
  for (size_t i = 0; i < kKnots; ++i) {
    const float level = low[i] + place.share * (high[i] - low[i]);
    const float fixed = std::min(std::max(level * 256 + rounding, 0.0f), 65535.0f);
    curve[i] = static_cast<uint16_t>(static_cast<int>(fixed));
  }
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
  chroma_.resize(nodes_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const MeanPlace place(light_.means[n]);
    if (tables.has_tone) CurveAt(tables.tone, place, 0, nodes_[n].tone);
    if (tables.has_detail) CurveAt(tables.detail, place, kChangeZero, nodes_[n].detail);
    if (!tables.has_chroma) continue;
    const float low = tables.chroma[place.knot], high = tables.chroma[place.knot + 1];
    chroma_[n] = static_cast<uint16_t>((low + place.share * (high - low)) * kChromaUnit);
  }
}

void LocalTables::SumsOfRow(const Plane& from, int y, int distance, uint16_t* sums) {
  const int width = from.width;
  SumRows(from.row<uint8_t>(std::max(y - distance, 0)), from.row<uint8_t>(y),
          from.row<uint8_t>(std::min(y + distance, from.height - 1)), width, sums);
  std::fill_n(sums - distance, distance, sums[0]);
  std::fill_n(sums + width, distance, sums[width - 1]);
}

template <typename Sample>
void LocalTables::LumaOfBytes(const Tables& tables, const Plane& from, const Plane& to,
                              bool dither) {
  // Light between nodes changes by a sixty-fourth a row: two rows share their curves.
  constexpr int kRows = 2;
  const int distance = tables.distance, width = from.width;
  const int whole = (width + kSpan - 1) / kSpan * kSpan;
  const auto line = static_cast<size_t>(whole + 2 * distance);
  row_.resize(static_cast<size_t>(light_.across));
  if (tables.has_detail) sums_.assign(kRows * line, 0);
  const bool cut = whole != width;  // rows do not end with a span
  std::vector<uint8_t> copies(cut ? static_cast<size_t>(kRows * whole) : 0);
  const Roundings& roundings = RoundingsOf(to.depth, dither);
  std::array<TableRow<Sample>, kRows> rows;
  const TableKinds kinds = {tables.has_tone, tables.has_detail, tables.fine};
  for (int y = 0; y < from.height; y += kRows) {
    const Node* above = nodes_.data() + static_cast<ptrdiff_t>(y / light_.cell) * light_.across;
    BlendNodes(above, above + light_.across, light_.across,
               (2 * (y % light_.cell) + 1) * 65535 / (2 * light_.cell), kinds, row_.data());
    const int count = std::min(kRows, from.height - y);
    for (int i = 0; i < count; ++i) {
      uint16_t* sums = nullptr;
      if (tables.has_detail) {
        sums = sums_.data() + static_cast<size_t>(i) * line + distance;
        SumsOfRow(from, y + i, distance, sums);
      }
      const uint8_t* samples = from.row<uint8_t>(y + i);
      if (cut) {
        uint8_t* copy = copies.data() + static_cast<ptrdiff_t>(i) * whole;
        samples = static_cast<uint8_t*>(std::memcpy(copy, samples, static_cast<size_t>(width)));
      }
      const int ahead = std::min(y + i + kRowsAhead, from.height - 1);
      rows[static_cast<size_t>(i)] = {
          .from = samples,
          .ahead = from.row<uint8_t>(ahead),
          .sums = sums,
          .nodes = row_.data(),
          .width = width,
          .cell = light_.cell,
          .distance = distance,
          .kinds = kinds,
          .rounding = roundings[static_cast<size_t>((y + i) % 8)].data(),
          .to = to.row<Sample>(y + i)};
    }
    RunRows(rows.data(), count);
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

namespace {

/// Samples of more than 8 bits through factors, one for each cell.
void ScaleDeepChroma(const Plane& from, const Plane& to, int y, const ChromaFactor* factors,
                     int cell) {
  const int grey = 1 << (from.depth - 1), most = 2 * grey - 1;
  const uint16_t* in = from.row<uint16_t>(y);
  uint16_t* out = to.row<uint16_t>(y);
  for (int x = 0; x < from.width; ++x) {
    const ChromaFactor& factor = factors[x / cell];
    const float rise = static_cast<float>(factor.rise * (x % cell)) / static_cast<float>(cell);
    const float scale = (factor.start + rise) / kChromaUnit;
    const float scaled = static_cast<float>(in[x] - grey) * scale;
    out[x] =
        static_cast<uint16_t>(std::clamp(grey + static_cast<int>(std::lround(scaled)), 0, most));
  }
}

/// Those of a row between two rows of `count` nodes, `weight` (of 65536) of the way down.
void BlendFactors(const uint16_t* above, const uint16_t* below, int count, uint32_t weight,
                  ChromaFactor* row) {
  uint32_t last = 0;
  for (int node = 0; node < count; ++node) {
    const uint32_t factor = (above[node] * (65536 - weight) + below[node] * weight) >> 16;
    if (node > 0) row[node - 1] = {static_cast<int16_t>(last), static_cast<int16_t>(factor - last)};
    last = factor;
  }
}

}  // namespace

void LocalTables::Chroma(const AVFrame& from, const AVFrame& to) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(from.format));
  const int cell = light_.cell >> desc->log2_chroma_w, high = light_.cell >> desc->log2_chroma_h;
  const Plane before[] = {PlaneOf(from, 1), PlaneOf(from, 2)};
  const Plane after[] = {PlaneOf(to, 1), PlaneOf(to, 2)};
  const bool deep = before[0].depth > 8;
  factors_.resize(static_cast<size_t>(light_.across));
  constexpr int kRows = 2;  // share their factors, as rows of luma their curves
  for (int y = 0; y < before[0].height; y += kRows) {
    const uint16_t* above = chroma_.data() + static_cast<ptrdiff_t>(y / high) * light_.across;
    const auto down = static_cast<uint32_t>((2 * (y % high) + 1) * 65536 / (2 * high));
    BlendFactors(above, above + light_.across, light_.across, down, factors_.data());
    std::array<ChromaRow, 2 * kRows> rows;
    int count = 0;
    for (int line = y; line < std::min(y + kRows, before[0].height); ++line)
      for (int i = 0; i < 2; ++i) {
        if (deep)
          ScaleDeepChroma(before[i], after[i], line, factors_.data(), cell);
        else
          rows[static_cast<size_t>(count++)] = {before[i].row<uint8_t>(line),
                                                after[i].row<uint8_t>(line)};
      }
    ScaleChroma(rows.data(), count, before[0].width, factors_.data(), cell);
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
  } else if (result.depth > 8) {
    LumaOfBytes<uint16_t>(tables, luma, result, dither);
  } else {
    LumaOfBytes<uint8_t>(tables, luma, result, dither);
  }
  const bool scaled = tables.has_chroma && luma.depth == result.depth && PlaneCount(from) > 2;
  if (scaled) Chroma(from, to);
  for (int plane = scaled ? 3 : 1; plane < PlaneCount(from); ++plane)
    CopyPlane(PlaneOf(from, plane), PlaneOf(to, plane));
}

}  // namespace fettle::enhance
