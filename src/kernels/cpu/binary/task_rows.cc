#include "kernels/cpu/binary/task_rows.h"

#include <bit>

namespace fettle::kernels {

int64_t TaskRows::Bytes(int64_t taps) { return kTaskPixels * (8 + taps * 8 + (taps + 2) * 4); }

TaskRows::TaskRows(const ops::BinaryProduct& product, const BitGeometry& geometry,
                   std::byte* memory)
    : geometry_(geometry),
      taps_(geometry.taps()),
      words_(product.words()),
      channels_(product.channels),
      pairs_(reinterpret_cast<int32_t*>(memory)),
      ones_(pairs_ + kTaskPixels),
      rows_(reinterpret_cast<const uint64_t**>(memory + kTaskPixels * 8)),
      outside_(reinterpret_cast<int32_t*>(rows_ + kTaskPixels * taps_)),
      borders_(outside_ + kTaskPixels * (taps_ + 1)) {}

void TaskRows::Fill(const uint64_t* x, const uint64_t* beside, const Pixels& pixels) {
  const int64_t tile = pixels.tile, whole = (pixels.pixels + tile - 1) / tile * tile;
  border_count_ = 0;
  BitGeometry::Place place = geometry_.PlaceOf(pixels.first);
  for (int64_t p = 0; p < whole; ++p, geometry_.Advance(place)) {
    const uint64_t** rows = rows_ + p / tile * tile * taps_ + p % tile;
    if (p >= pixels.pixels) {
      for (int64_t t = 0; t < taps_; ++t) rows[t * tile] = beside;
      continue;
    }
    int64_t counted = geometry_.FillRows(x, beside, place, tile, rows);
    if (pixels.pads_count) counted = taps_;
    if (counted < taps_) AddBorder(p, rows, tile, beside);
    pairs_[p] = static_cast<int32_t>(counted * channels_);
    ones_[p] = pixels.counts_ones ? OnesOf(rows, tile) : 0;
  }
}

void TaskRows::AddBorder(int64_t p, const uint64_t* const* rows, int64_t stride,
                         const uint64_t* beside) {
  borders_[border_count_++] = static_cast<int32_t>(p);
  int32_t* outside = outside_ + p * (taps_ + 1);
  outside[0] = 0;
  for (int64_t t = 0; t < taps_; ++t) {
    if (rows[t * stride] == beside) outside[++outside[0]] = static_cast<int32_t>(t);
  }
}

int32_t TaskRows::OnesOf(const uint64_t* const* rows, int64_t stride) const {
  int32_t ones = 0;
  for (int64_t t = 0; t < taps_; ++t) {
    for (int64_t i = 0; i < words_; ++i) ones += std::popcount(rows[t * stride][i]);
  }
  return ones;
}

}  // namespace fettle::kernels
