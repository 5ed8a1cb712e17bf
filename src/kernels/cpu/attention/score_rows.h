// Scores of a few queries, and what becomes of them before the softmax.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// s[r * stride + i] = the inner product of row r of `q` [rows, size] with row i of `k` [keys,
/// size].
/// For few rows: `k` is read once for four of them.
void ScoreRows(const float* q, int64_t rows, int64_t size, const float* k, int64_t keys,
               int64_t stride, float* s);

/// s = cap * tanh(s / cap) of `n` scores.
void CapScores(float cap, int64_t n, float* s);

}  // namespace fettle::kernels
