#include "kernels/cpu/binary/task_rows.h"

#include <algorithm>
#include <bit>

namespace fettle::kernels {
namespace {

int32_t OnesOf(const uint64_t* base, std::span<const int64_t> steps) {
  int32_t ones = 0;
  for (int64_t step : steps) ones += std::popcount(base[step]);
  return ones;
}

}  // namespace

void TaskRows::Fill(const ops::BinaryProduct& product, const BitGeometry& geometry,
                    const uint64_t* image, const Pixels& pixels) {
  const int64_t whole = (pixels.pixels + pixels.tile - 1) / pixels.tile * pixels.tile;
  geometry.FillBases(image, pixels.first, pixels.pixels, bases_);
  std::fill(bases_ + pixels.pixels, bases_ + whole, bases_[pixels.pixels - 1]);
  geometry.FillClasses(pixels.first, pixels.pixels, classes_);
  if (pixels.in_spans) span_count_ = geometry.FillSpans(pixels.first, pixels.pixels, spans_);
  if (!pixels.has_pairs) return;
  const std::span<const int32_t> inside = geometry.inside();
  for (int64_t p = 0; p < pixels.pixels; ++p)
    pairs_[p] = inside[static_cast<size_t>(classes_[p])] * static_cast<int32_t>(product.channels);
  if (!pixels.counts_ones) {
    std::fill_n(ones_, pixels.pixels, 0);
    return;
  }
  for (int64_t p = 0; p < pixels.pixels; ++p) ones_[p] = OnesOf(bases_[p], geometry.steps());
}

}  // namespace fettle::kernels
