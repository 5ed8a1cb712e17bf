// Sums of floats chosen by bits: products with weights of two values, without multiplications.
#pragma once

#include <cstdint>

#include "kernels/cpu/epilogue/epilogue.h"

namespace fettle::kernels {

/// Outputs of a panel: bit o of word k chooses whether output o adds number k.
inline constexpr int kChosenOutputs = 32;

/// Up to ChosenRows() rows, given like those of a product of floats: [tap][row] pointers, `depth`
/// numbers each from `offset` on. Words lie [panel][taps * depth].
struct ChosenSums {
  const float* const* rows = nullptr;
  int64_t taps = 1, depth = 0, offset = 0;
  int count = 0;  // rows
  const uint32_t* words = nullptr;
  float* sums = nullptr;  // [row][kChosenOutputs], written
};

/// Rows that are summed at once, at most kMostTileRows.
inline constexpr int kMostTileRows = 8;
int ChosenRows();

/// sums[r][o] = the sum of row r's numbers that output o chooses. The order of additions depends on
/// the number of rows and the instruction set alone.
void SumChosen(const ChosenSums& args);

/// totals[r] = the sum of all of row r's numbers.
void SumAll(const ChosenSums& args, float* totals);

/// What sums become: clamp(a * sum + b * total + c), rows `stride` apart.
struct ChosenResults {
  const float* numbers = nullptr;  // a, b and c, kChosenOutputs each
  const float* totals = nullptr;   // [row]
  Clamp clamp;
  float* y = nullptr;
  int64_t stride = 0, columns = kChosenOutputs;
};
void StoreChosen(const ChosenResults& to, const float* sums, int rows);

}  // namespace fettle::kernels
