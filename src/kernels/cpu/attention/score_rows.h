// Scores of a few queries, and the operations on them before the softmax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace fettle::kernels {

/// Rows of keys or of values, one behind the other.
struct StoredRows {
  enum Kind { kFloats, kHalves, kBytes };  // bytes: as ops/attention/byte_rows.h has them
  const std::byte* at = nullptr;
  Kind kind = kFloats;
  const std::byte* next = nullptr;  // what is read next, of as many rows, is asked for meanwhile
  int64_t next_bytes = 0;           // of a row of it; 0: nothing is
};
/// Whether ScoreRows and AddValues take rows of `size` halves, or bytes, on this CPU.
bool ReadsFewBytes(StoredRows::Kind kind, int64_t size);

/// s[r * stride + i] = the inner product of row r of `q` [rows, size] with row i of `k` [keys,
/// size].
/// For few rows: `k` is read once for three or four.
void ScoreRows(const float* q, int64_t rows, int64_t size, const StoredRows& k, int64_t keys,
               int64_t stride, float* s);

/// s = cap * tanh(s / cap) of `n` scores.
void CapScores(float cap, int64_t n, float* s);

/// s[i] += scale * x[i * stride] of `n` scores.
void AddScores(const float* x, int64_t stride, float scale, int64_t n, float* s);

/// s[i] = value of those of `n` scores whose c[i * stride], 0 or 1, is `where`.
void FillScores(const uint8_t* c, int64_t stride, bool where, float value, int64_t n, float* s);

/// y[i] = factor * x[i] of `n` elements; `y` may be `x`.
void ScaleRow(const float* x, int64_t n, float factor, float* y);

/// The softmax of a row whose scores come in tiles: the greatest so far, and the sum of the
/// exponentials of what lies below it ("online softmax": Milakov and Gimelshein, 2018).
struct TiledRow {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
};

/// The `n` scores of the next tile become weights, which `row` counts. Returns by what results of
/// the tiles before have to be multiplied.
float WeighTile(float* s, int64_t n, TiledRow& row);

/// What a part whose greatest score was `from` has to be multiplied by where it is `to`, no less.
float RescaleOf(float from, float to);

/// y[r * v_size + d] = factors[r] * y[r * v_size + d] + the sum of w[r * stride + i] *
/// v[i * v_size + d] over `keys` keys, for few rows: `v` is read once for three or four.
void AddValues(const float* w, int64_t rows, int64_t stride, const StoredRows& v, int64_t v_size,
               int64_t keys, const float* factors, float* y);

/// Results of more keys join those of others: rows of `y` [rows, size] and what is `known` of their
/// scores.
void JoinRows(const float* more, const TiledRow* known_more, int64_t rows, int64_t size, float* y,
              TiledRow* known);

}  // namespace fettle::kernels
