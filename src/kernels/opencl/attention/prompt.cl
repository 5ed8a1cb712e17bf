// GroupQueryAttention of many rows over a cache of halves (cache.clh), by matrix instructions: queries and weights of
// values are two halves each (many_rows/powers.clh), so that sums are those of f32. A warp has 16 rows of a key head;
// keys come in tiles, and what was summed is rescaled where a tile has a greater score.
// lws = {ITEMS}, gws = {BLOCKS * ITEMS, batch * KV_HEADS}. SIZE is V_SIZE, a multiple of 64.
#include "kernels/opencl/attention/cache.clh"
#include "kernels/opencl/attention/warps.clh"
#include "kernels/opencl/many_rows/powers.clh"
#define ROWS 64
#define TILE 64
#define ITEMS (ROWS * 2)
#define BLOCKS ((COUNT + ROWS - 1) / ROWS)
#define STEPS (SIZE / 16)
#define CHUNKS (SIZE / 8)
#define OPERAND_BYTES (TILE * SIZE * 2)
// Chunks of a row, so that the eight rows that one instruction reads lie in different banks.
#define PLACE(row, chunk) (((row)*CHUNKS + ((chunk) ^ ((row)&7))) * 16)

// Keys from `tile` on, zeros behind the last one.
#define COPY_OPERAND(to, from)                                                                                \
  EACH(f, TILE * CHUNKS / ITEMS) {                                                                            \
    const int key = item / CHUNKS + f * (ITEMS / CHUNKS), chunk = item % CHUNKS;                              \
    COPY_16((to) + PLACE(key, chunk), (from) + min(copied + key, KEYS - 1) * SIZE + chunk * 8,                \
            copied + key < end ? 16 : 0);                                                                     \
  }
#define COPY_KEYS(tile, stage)                                 \
  {                                                            \
    const int copied = (tile);                                 \
    COPY_OPERAND((stage)*2 * OPERAND_BYTES, k)                 \
    COPY_OPERAND((stage)*2 * OPERAND_BYTES + OPERAND_BYTES, v) \
  }

// Two floats as what halves hold of them, and what is left.
static void CutPair(const float2 v, __private uint* held, __private uint* left) {
  const float2 kept = as_float2(as_uint2(v) + 0x1000u & ~0x1fffu);
  *held = PairOfHalves(kept);
  *left = PairOfHalves(v - kept);
}

// The rows of a work-item, eight apart: keys that they see, what their scores are worth, the greatest of them so far,
// and sums of weights and of values.
typedef struct {
  int begin[2], end[2];
  float worth[2], greatest[2], weight[2], result[SIZE / 8][4];
} rows_t;
typedef struct {
  uint held[STEPS][4], left[STEPS][4];
} queries_t;

// `of`: keys, and where the new ones begin. Rows beyond the last repeat it.
static __attribute__((always_inline)) void StartRows(__private rows_t* rows, __private queries_t* queries,
                                                     __global const float* q, __local const float2* powers,
                                                     const int head, const int first_row, const int own_row,
                                                     const int lane, const int2 of, const float scale) {
  EACH(i, 2) {
    const int row = min(first_row + own_row + i * 8, COUNT - 1), position = of.y + row / GROUP;
    const float2 power = powers[own_row + i * 8];
    __global const float* from = q + RowOfResult(head, row) * SIZE + lane % 4 * 2;
    EACH(s, STEPS) EACH(h, 2)
      CutPair(vload2(0, from + s * 16 + h * 8) * power.x, &queries->held[s][i + h * 2], &queries->left[s][i + h * 2]);
    rows->worth[i] = power.y * scale;
    rows->begin[i] = FirstSeen(position);
    rows->end[i] = min(position + 1, of.x);
    rows->greatest[i] = -INFINITY;
    rows->weight[i] = 0.0f;
  }
  EACH(j, SIZE / 8) EACH(r, 4) rows->result[j][r] = 0.0f;
}

static __attribute__((always_inline)) void ScoreTile(__private float (*score)[4], __private const queries_t* queries,
                                                     const uint keys, const int lane, WARP_PARAMS) {
  EACH(j, TILE / 8) EACH(r, 4) score[j][r] = 0.0f;
  UNROLL_INSTRUCTIONS for (int s = 0; s < STEPS; ++s) {
    UNROLL_INSTRUCTIONS for (int j = 0; j < TILE / 16; ++j) {
      uint b[4];
      LoadMatrices(b, keys + PLACE(j * 16 + (lane & 7) + (lane >> 4) * 8, s * 2 + (lane >> 3 & 1)), WARP_ARGS);
      UNROLL_INSTRUCTIONS for (int h = 0; h < 2; ++h) {
        MultiplyAddHalves(score[j * 2 + h], queries->left[s], b + h * 2, WARP_ARGS);
        MultiplyAddHalves(score[j * 2 + h], queries->held[s], b + h * 2, WARP_ARGS);
      }
    }
  }
}

// Scores of the tile to weights, and what was summed to what it is worth beside them.
static __attribute__((always_inline)) void WeighTile(__private rows_t* rows, __private float (*score)[4],
                                                     const int tile, const bool sees_all, const float softcap,
                                                     const int lane, WARP_PARAMS) {
  float most[2] = {rows->greatest[0], rows->greatest[1]}, base[2], factor[2];
  EACH(j, TILE / 8) EACH(r, 4) {
    const int key = tile + j * 8 + lane % 4 * 2 + r % 2;
    float now = Capped(score[j][r] * rows->worth[r / 2], softcap) * LOG2_E;
    if (!sees_all && (key < rows->begin[r / 2] || key >= rows->end[r / 2])) now = -INFINITY;
    score[j][r] = now;
    most[r / 2] = fmax(most[r / 2], now);
  }
  EACH(i, 2) {
    most[i] = MostOfQuad(most[i], WARP_ARGS);
    base[i] = most[i] == -INFINITY ? 0.0f : most[i];
    factor[i] = exp2(rows->greatest[i] - base[i]);
    rows->greatest[i] = most[i];
    rows->weight[i] *= factor[i];
  }
  EACH(j, SIZE / 8) EACH(r, 4) rows->result[j][r] *= factor[r / 2];
  EACH(j, TILE / 8) EACH(r, 4) {
    score[j][r] = exp2(score[j][r] - base[r / 2] + WEIGHT_EXPONENT);
    rows->weight[r / 2] += score[j][r];
  }
}

static __attribute__((always_inline)) void AddValues(__private rows_t* rows, __private float (*weights)[4],
                                                     const uint values, const int lane, WARP_PARAMS) {
  UNROLL_INSTRUCTIONS for (int s = 0; s < TILE / 16; ++s) {
    uint held[4], left[4];
    EACH(i, 4) {
      const int j = s * 2 + i / 2, r = i % 2 * 2;
      CutPair((float2)(weights[j][r], weights[j][r + 1]), &held[i], &left[i]);
    }
    UNROLL_INSTRUCTIONS for (int j = 0; j < SIZE / 16; ++j) {
      uint b[4];
      LoadMatricesTransposed(b, values + PLACE(s * 16 + (lane & 15), j * 2 + (lane >> 4)), WARP_ARGS);
      UNROLL_INSTRUCTIONS for (int h = 0; h < 2; ++h) {
        MultiplyAddHalves(rows->result[j * 2 + h], left, b + h * 2, WARP_ARGS);
        MultiplyAddHalves(rows->result[j * 2 + h], held, b + h * 2, WARP_ARGS);
      }
    }
  }
}

static __attribute__((always_inline)) void StoreRows(__global float* y, __private const rows_t* rows, const int head,
                                                     const int first, const int lane, const int2 of, WARP_PARAMS) {
  EACH(i, 2) {
    const float total = SumOfQuad(rows->weight[i], WARP_ARGS);
    const int row = first + i * 8;
    const bool sees = FirstSeen(of.y + row / GROUP) < of.x;
    if (row < COUNT) {
      __global float* to = y + RowOfResult(head, row) * SIZE + lane % 4 * 2;
      EACH(j, SIZE / 8) {
        const float2 sum = (float2)(rows->result[j][i * 2], rows->result[j][i * 2 + 1]);
        vstore2(sees ? sum / total : (float2)(0.0f), 0, to + j * 8);
      }
    }
  }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void attend_rows(
    __global const float* restrict q, const int q_offset, __global const cache_t* restrict k, const int k_offset,
    __global const cache_t* restrict v, const int v_offset, __global const LENGTHS* restrict lengths,
    const int lengths_offset, __global float* restrict y, const int y_offset, const float scale,
    const float softcap) {
  __local uchar local_memory[4 * OPERAND_BYTES] __attribute__((aligned(128)));
  __local float2 powers[ROWS];
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0), lane = item & 31, head = get_global_id(1);
  // Rows that see most keys come first.
  const int first_row = (BLOCKS - 1 - (int)get_global_id(0) / ITEMS) * ROWS, last_row = min(first_row + ROWS, COUNT) - 1;
  const int2 of = LengthsOf(lengths + lengths_offset, head / KV_HEADS);
  const int end = min(of.x, of.y + last_row / GROUP + 1), begin = FirstSeen(of.y + first_row / GROUP) / TILE * TILE;
  q += q_offset;
  k += k_offset + head * KEYS * SIZE;
  v += v_offset + head * KEYS * SIZE;
  COPY_KEYS(begin, 0)
  COMMIT_COPIES;
  if (item < ROWS) {
    __global const float* from = q + RowOfResult(head, min(first_row + item, last_row)) * SIZE;
    float greatest = 0.0f;
    for (int d = 0; d < SIZE / 4; ++d) greatest = fmax(greatest, GreatestOf4(vload4(d, from)));
    powers[item] = PowersOf(greatest);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int own_row = item / 32 * 16 + lane / 4;
  rows_t rows;
  queries_t queries;
  StartRows(&rows, &queries, q, powers, head, first_row, own_row, lane, of, scale);

  int stage = 0;
  for (int tile = begin; tile < end; tile += TILE) {
    if (tile + TILE < end) COPY_KEYS(tile + TILE, 1 - stage)
    COMMIT_COPIES;
    WAIT_COPIES(1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint keys = stage * 2 * OPERAND_BYTES;
    const bool sees_all = tile + TILE <= of.y + first_row / GROUP + 1 && tile + TILE <= of.x &&
                          tile >= FirstSeen(of.y + last_row / GROUP);
    float score[TILE / 8][4];
    ScoreTile(score, &queries, keys, lane, WARP_ARGS);
    WeighTile(&rows, score, tile, sees_all, softcap, lane, WARP_ARGS);
    AddValues(&rows, score, keys + OPERAND_BYTES, lane, WARP_ARGS);
    barrier(CLK_LOCAL_MEM_FENCE);
    stage = 1 - stage;
  }
  WAIT_COPIES(0);
  StoreRows(y + y_offset, &rows, head, first_row + own_row, lane, of, WARP_ARGS);
}
