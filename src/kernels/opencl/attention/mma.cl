// Y = Softmax(SCALE * Q K' + sums + mask) V for each matrix of a batch, in one launch, by matrix instructions of f16 with
// sums in f32: no score leaves its registers (Dao and others, FlashAttention, 2022). Operands are those of strided.clh,
// stored as f16. ROWS queries are a work-group's: lws = {ITEMS, 1, 1}, gws = {ceil(QUERIES / ROWS) * ITEMS, matrices, 1}.
// Keys come in tiles of TILE; what was summed is rescaled where a tile has a greater score.
//   PARTS      warps that have the same 16 queries, each with its part of a tile's keys; their sums are joined at the end
//   Q_PAIRS    1: columns are neighbours, and pairs of them are aligned; Y_PAIRS the same of results
//   K_VECTORS  1: so are eights of them, V_VECTORS the same of values; else elements are copied one by one
#include "kernels/opencl/attention/warps.clh"
#include "kernels/opencl/attention/strided.clh"
#ifndef Q_PAIRS
#define Q_PAIRS 1
#define Y_PAIRS 1
#define K_VECTORS 1
#define V_VECTORS 1
#endif
#ifndef ROWS
#define ROWS 16
#endif
#ifndef TILE
#define TILE 64
#endif
#ifndef PARTS
#define PARTS 2
#endif
#define ITEMS (ROWS / 16 * PARTS * 32)
#define PART (TILE / PARTS)
#define STEPS ((SIZE + 15) / 16)
#define BLOCKS ((V_SIZE + 15) / 16)
// Of a key and of a value in local memory, in 16 bytes: odd, so that the eight rows that one instruction reads lie in
// different banks.
#define KEY_PITCH (STEPS * 2 + 1)
#define VALUE_PITCH (BLOCKS * 2 + 1)
#define KEY_BYTES (TILE * KEY_PITCH * 16)
#define STAGE_BYTES (KEY_BYTES + TILE * VALUE_PITCH * 16)
#define STAGES (KEYS > TILE ? 2 : 1)
// What a warp hands to the first one of its rows, a float of each item after the other.
#define HANDED (4 + BLOCKS * 8)
#define HANDED_BYTES (ROWS / 16 * (PARTS - 1) * HANDED * 128)
#define LOCAL_BYTES (STAGES * STAGE_BYTES > HANDED_BYTES ? STAGES * STAGE_BYTES : HANDED_BYTES)
// Barriers of emulated instructions are met by all.
#define IS_BEYOND(key) (!EMULATED && (key) >= KEYS)

typedef __global const ushort halves_t;

// Rows from `copied` on of a matrix into local memory, zeros beyond it.
#define COPY_VECTORS(to, pitch, columns, from, row_stride)                                                  \
  for (int i = item; i < TILE * ((pitch)-1); i += ITEMS) {                                                  \
    const int row = i / ((pitch)-1), chunk = i % ((pitch)-1);                                               \
    const bool is_there = copied + row < KEYS && chunk * 8 < (columns);                                     \
    COPY_16((to) + (row * (pitch) + chunk) * 16, (from) + (is_there ? (copied + row) * (row_stride) + chunk * 8 : 0), \
            is_there ? 16 : 0);                                                                             \
  }
#define COPY_ELEMENTS(to, pitch, columns, from, row_stride, column_stride)                                   \
  for (int i = item; i < TILE * ((pitch)-1) * 8; i += ITEMS) {                                              \
    const int row = (column_stride) == 1 ? i / ((pitch)*8 - 8) : i % TILE;                                  \
    const int column = (column_stride) == 1 ? i % ((pitch)*8 - 8) : i / TILE;                               \
    const bool is_there = copied + row < KEYS && column < (columns);                                        \
    *(__local ushort*)(local_memory + (to) + row * (pitch)*16 + column * 2) =                               \
        is_there ? (from)[(copied + row) * (row_stride) + column * (column_stride)] : (ushort)0;              \
  }
#if K_VECTORS
#define COPY_KEYS(to) COPY_VECTORS(to, KEY_PITCH, SIZE, key_rows, K_ROW)
#else
#define COPY_KEYS(to) COPY_ELEMENTS(to, KEY_PITCH, SIZE, key_rows, K_ROW, K_COLUMN)
#endif
#if V_VECTORS
#define COPY_VALUES(to) COPY_VECTORS(to, VALUE_PITCH, V_SIZE, value_rows, V_ROW)
#else
#define COPY_VALUES(to) COPY_ELEMENTS(to, VALUE_PITCH, V_SIZE, value_rows, V_ROW, V_COLUMN)
#endif
#define COPY_TILE(first, stage)                     \
  {                                                 \
    const int copied = (first);                     \
    COPY_KEYS((stage)*STAGE_BYTES)                  \
    COPY_VALUES((stage)*STAGE_BYTES + KEY_BYTES)    \
  }

// The two rows of a work-item: the greatest score so far, the sum of this item's weights, and its sums of values.
typedef struct {
  float greatest[2], weight[2], result[BLOCKS * 2][4];
} rows_t;

// Columns beyond the last are 0.
static uint PairOfQuery(halves_t* row, const int column) {
#if Q_PAIRS
  return column < SIZE ? *(__global const uint*)(row + column) : 0;
#else
  const uint low = column < SIZE ? row[column * Q_COLUMN] : 0;
  const uint high = column + 1 < SIZE ? row[(column + 1) * Q_COLUMN] : 0;
  return low | high << 16;
#endif
}

static __attribute__((always_inline)) void ScoreTile(__private float (*score)[4], __private uint (*query)[4],
                                                     const uint keys, const int first_key, const int lane, WARP_PARAMS) {
  EACH(j, PART / 8) EACH(r, 4) score[j][r] = 0.0f;
  UNROLL_INSTRUCTIONS for (int j = 0; j < PART / 16; ++j) {
    if (IS_BEYOND(first_key + j * 16)) continue;
    UNROLL_INSTRUCTIONS for (int s = 0; s < STEPS; ++s) {
      uint b[4];
      LoadMatrices(b, keys + ((j * 16 + (lane & 7) + (lane >> 4) * 8) * KEY_PITCH + s * 2 + (lane >> 3 & 1)) * 16,
                   WARP_ARGS);
      UNROLL_INSTRUCTIONS for (int h = 0; h < 2; ++h) MultiplyAddHalves(score[j * 2 + h], query[s], b + h * 2, WARP_ARGS);
    }
  }
}

// What is added to products, -infinity beyond the last key.
static __attribute__((always_inline)) void FinishScores(__private float (*score)[4], const int own_key, const int own_row,
                                                        const int matrix, const float scale SUMS_PARAMS MASK_PARAMS) {
  EACH(j, PART / 8) EACH(r, 4) {
    const int key = own_key + j * 8 + r % 2;
    float now = score[j][r] * scale;
#if SUMS || MASK
    const int row = min(own_row + r / 2 * 8, QUERIES - 1), last_key = min(key, KEYS - 1);
#endif
#if SUMS
    now += sums[(matrix % SUMS_PERIOD * QUERIES + row) * KEYS + last_key];
#endif
#if MASK
    now += mask_scale * LOAD(m, m_offset + OF_MATRIX(M, matrix) + row * M_ROW + last_key * M_COLUMN);
#endif
    score[j][r] = key < KEYS ? now : -INFINITY;
  }
}

// Scores to weights of 2^WEIGHT_EXPONENT at most, and what was summed to what it is worth beside them.
static __attribute__((always_inline)) void WeighTile(__private rows_t* rows, __private float (*score)[4], WARP_PARAMS) {
  float base[2];
  EACH(i, 2) {
    float most = rows->greatest[i];
    EACH(j, PART / 8) most = fmax(most, fmax(score[j][i * 2], score[j][i * 2 + 1]));
    most = MostOfQuad(most, WARP_ARGS);
    base[i] = most == -INFINITY ? 0.0f : most;
    const float factor = native_exp2((rows->greatest[i] - base[i]) * LOG2_E);
    rows->greatest[i] = most;
    rows->weight[i] *= factor;
    EACH(j, BLOCKS * 2) {
      rows->result[j][i * 2] *= factor;
      rows->result[j][i * 2 + 1] *= factor;
    }
  }
  EACH(j, PART / 8) EACH(r, 4) {
    score[j][r] = native_exp2((score[j][r] - base[r / 2]) * LOG2_E + WEIGHT_EXPONENT);
    rows->weight[r / 2] += score[j][r];
  }
}

static __attribute__((always_inline)) void AddValues(__private rows_t* rows, __private float (*weights)[4],
                                                     const uint values, const int first_key, const int lane,
                                                     WARP_PARAMS) {
  UNROLL_INSTRUCTIONS for (int s = 0; s < PART / 16; ++s) {
    if (IS_BEYOND(first_key + s * 16)) continue;
    uint a[4];
    EACH(i, 4) a[i] = PairOfHalves((float2)(weights[s * 2 + i / 2][i % 2 * 2], weights[s * 2 + i / 2][i % 2 * 2 + 1]));
    UNROLL_INSTRUCTIONS for (int j = 0; j < BLOCKS; ++j) {
      uint b[4];
      LoadMatricesTransposed(b, values + ((s * 16 + (lane & 15)) * VALUE_PITCH + j * 2 + (lane >> 4)) * 16, WARP_ARGS);
      UNROLL_INSTRUCTIONS for (int h = 0; h < 2; ++h)
        MultiplyAddHalves(rows->result[j * 2 + h], a, b + h * 2, WARP_ARGS);
    }
  }
}

// To and from the places of `handed`, an item's a warp apart.
static void HandOver(__private const rows_t* rows, __local float* handed) {
  EACH(i, 2) {
    handed[i * 32] = rows->greatest[i];
    handed[(2 + i) * 32] = rows->weight[i];
  }
  EACH(j, BLOCKS * 2) EACH(r, 4) handed[(4 + j * 4 + r) * 32] = rows->result[j][r];
}
static void Join(__private rows_t* rows, __local const float* handed) {
  EACH(i, 2) {
    const float other = handed[i * 32], most = fmax(rows->greatest[i], other);
    const float base = most == -INFINITY ? 0.0f : most;
    const float own_worth = native_exp2((rows->greatest[i] - base) * LOG2_E);
    const float other_worth = native_exp2((other - base) * LOG2_E);
    rows->greatest[i] = most;
    rows->weight[i] = rows->weight[i] * own_worth + handed[(2 + i) * 32] * other_worth;
    EACH(j, BLOCKS * 2) EACH(r, 2) {
      __private float* sum = &rows->result[j][i * 2 + r];
      *sum = *sum * own_worth + handed[(4 + j * 4 + i * 2 + r) * 32] * other_worth;
    }
  }
}

static void StorePair(const float2 pair, __global storage_t* row, const int column) {
#if Y_PAIRS
  if (column < V_SIZE) *(__global uint*)(row + column) = PairOfHalves(pair);
#else
  if (column < V_SIZE) STORE(pair.x, row, column * Y_COLUMN);
  if (column + 1 < V_SIZE) STORE(pair.y, row, (column + 1) * Y_COLUMN);
#endif
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void rows(
    SOURCES, __global storage_t* restrict y, const int y_offset, const float scale SUMS_PARAMS MASK_PARAMS) {
  __local uchar local_memory[LOCAL_BYTES] __attribute__((aligned(128)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0), lane = item & 31, matrix = get_global_id(1), part = item / 32 % PARTS;
  const int own_row = (int)get_global_id(0) / ITEMS * ROWS + item / 32 / PARTS * 16 + lane / 4;
  halves_t* key_rows = (halves_t*)(k + k_offset + OF_MATRIX(K, matrix));
  halves_t* value_rows = (halves_t*)(v + v_offset + OF_MATRIX(V, matrix));
  COPY_TILE(0, 0)
  COMMIT_COPIES;

  uint query[STEPS][4];
  rows_t sums_of;
  EACH(i, 2) {
    // Rows beyond the last repeat it.
    halves_t* from = (halves_t*)(q + q_offset + OF_MATRIX(Q, matrix)) + min(own_row + i * 8, QUERIES - 1) * Q_ROW;
    EACH(s, STEPS) EACH(h, 2) query[s][i + h * 2] = PairOfQuery(from, s * 16 + h * 8 + lane % 4 * 2);
    sums_of.greatest[i] = -INFINITY;
    sums_of.weight[i] = 0.0f;
  }
  EACH(j, BLOCKS * 2) EACH(r, 4) sums_of.result[j][r] = 0.0f;

  for (int tile = 0, stage = 0; tile < KEYS; tile += TILE, stage = 1 - stage) {
    if (tile + TILE < KEYS) COPY_TILE(tile + TILE, 1 - stage)
    COMMIT_COPIES;
    WAIT_COPIES(1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first_key = tile + part * PART;
    const uint keys = stage * STAGE_BYTES + part * PART * KEY_PITCH * 16;
    const uint values = stage * STAGE_BYTES + KEY_BYTES + part * PART * VALUE_PITCH * 16;
    if (!IS_BEYOND(first_key)) {
      float score[PART / 8][4];
      ScoreTile(score, query, keys, first_key, lane, WARP_ARGS);
      FinishScores(score, first_key + lane % 4 * 2, own_row, matrix, scale SUMS_ARGS MASK_ARGS);
      WeighTile(&sums_of, score, WARP_ARGS);
      AddValues(&sums_of, score, values, first_key, lane, WARP_ARGS);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  // Of warps of the same rows the first gathers what the others hand over.
  __local float* handed = (__local float*)local_memory + item / 32 / PARTS * (PARTS - 1) * HANDED * 32 + lane;
  if (PARTS > 1) {
    if (part > 0) HandOver(&sums_of, handed + (part - 1) * HANDED * 32);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part == 0)
      for (int other = 0; other < PARTS - 1; ++other) Join(&sums_of, handed + other * HANDED * 32);
  }
  EACH(i, 2) {
    const float total = SumOfQuad(sums_of.weight[i], WARP_ARGS);
    const bool is_nan = total == 0.0f || isnan(total);
    __global storage_t* to = y + y_offset + OF_MATRIX(Y, matrix) + (own_row + i * 8) * Y_ROW;
    if (part == 0 && own_row + i * 8 < QUERIES) {
      EACH(j, BLOCKS * 2) {
        const float2 sum = (float2)(sums_of.result[j][i * 2], sums_of.result[j][i * 2 + 1]);
        StorePair(NAN_TO_ZERO && is_nan ? (float2)(0.0f) : sum / total, to, j * 8 + lane % 4 * 2);
      }
    }
  }
}
