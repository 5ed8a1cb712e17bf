// Sums of samples, and chroma times factors: loops of tables/local.cc and tables/light.cc, for each
// instruction set (see tables/rows.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::enhance {

/// above + 2 here + below.
void SumRows(const uint8_t* above, const uint8_t* here, const uint8_t* below, int width,
             uint16_t* sums);

/// Of each `cell` samples across, the last ones fewer, the sum over `rows` rows that stand `stride`
/// bytes apart.
void SumCells(const uint8_t* from, ptrdiff_t stride, int rows, int width, int cell, uint64_t* sums);

/// At a cell's first sample, and what it rises to the next cell's, in 1/kChromaUnit; 0 to 3.9.
inline constexpr int kChromaUnit = 8192;
struct ChromaFactor {
  int16_t start = 0, rise = 0;
};

/// Rows of chroma that share factors: some of both planes.
struct ChromaRow {
  const uint8_t* from;
  uint8_t* to;
};
/// `count` rows of `width` samples times factors, one for each `cell` samples (at least 4).
void ScaleChroma(const ChromaRow* rows, int count, int width, const ChromaFactor* factors,
                 int cell);

}  // namespace fettle::enhance
