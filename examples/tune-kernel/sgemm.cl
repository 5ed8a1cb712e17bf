// C [M, N] = A [M, K] * B [K, N], row-major; M, N and K are multiples of the tiles. A work-item makes
// TM rows of TN vectors of VW columns: gws = {N / (VW * TN), M / TM}, exchanged where ROWS_FIRST.
// It takes KU values of a row of A at once. With KT, a work-group of LX * LY brings KT columns of A and KT rows of B to local memory at a time.
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 1
#endif
#ifndef VW
#define VW 4
#endif
#ifndef KT
#define KT 0
#endif
#ifndef KU
#define KU 1
#endif
#ifndef ROWS_FIRST
#define ROWS_FIRST 0
#endif
#ifndef LX
#define LX 8
#endif
#ifndef LY
#define LY 8
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VEC JOIN(float, VW)
#define LOAD JOIN(vload, VW)
#define STORE JOIN(vstore, VW)

// What a work-group makes, and how many of its work-items lie along each side.
#define COLUMN_ITEMS (ROWS_FIRST ? LY : LX)
#define ROW_ITEMS (ROWS_FIRST ? LX : LY)
#define COLUMNS (COLUMN_ITEMS * VW * TN)
#define ROWS (ROW_ITEMS * TM)

// Steps along K: KU values from each of TM rows of A, `a_pitch` apart, by KU rows of B.
#define MULTIPLY(a, a_pitch, b, b_pitch)                                         \
  {                                                                              \
    float left[TM][KU];                                                          \
    _Pragma("unroll") for (int i = 0; i < TM; ++i)                               \
        _Pragma("unroll") for (int u = 0; u < KU; ++u) left[i][u] = (a)[i * (a_pitch) + u]; \
    _Pragma("unroll") for (int u = 0; u < KU; ++u) {                             \
      VEC right[TN];                                                             \
      _Pragma("unroll") for (int j = 0; j < TN; ++j) right[j] = LOAD(j, (b) + u * (b_pitch)); \
      _Pragma("unroll") for (int i = 0; i < TM; ++i)                             \
          _Pragma("unroll") for (int j = 0; j < TN; ++j)                         \
              sum[i][j] = fma((VEC)(left[i][u]), right[j], sum[i][j]);           \
    }                                                                            \
  }

__kernel void sgemm(const int m, const int n, const int k, __global const float* restrict a,
                    __global const float* restrict b, __global float* restrict c) {
  const int column = get_global_id(ROWS_FIRST ? 1 : 0) * (VW * TN);
  const int row = get_global_id(ROWS_FIRST ? 0 : 1) * TM;
  VEC sum[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = (VEC)(0.0f);
#if KT
  __local float a_tile[ROWS * KT], b_tile[KT * COLUMNS];
  const int item = get_local_id(1) * LX + get_local_id(0);
  const int item_column = get_local_id(ROWS_FIRST ? 1 : 0) * (VW * TN);
  const int item_row = get_local_id(ROWS_FIRST ? 0 : 1) * TM;
  const int first_column = column - item_column, first_row = row - item_row;
  for (int first = 0; first < k; first += KT) {
    for (int at = item; at < ROWS * KT; at += LX * LY)
      a_tile[at] = a[(first_row + at / KT) * k + first + at % KT];
    for (int at = item; at < KT * COLUMNS; at += LX * LY)
      b_tile[at] = b[(first + at / COLUMNS) * n + first_column + at % COLUMNS];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < KT; p += KU)
      MULTIPLY(a_tile + item_row * KT + p, KT, b_tile + p * COLUMNS + item_column, COLUMNS)
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#else
  for (int p = 0; p < k; p += KU) MULTIPLY(a + row * k + p, k, b + p * n + column, n)
#endif
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) STORE(sum[i][j], j, c + (row + i) * n + column);
}

// What it must come to: one output per work-item.
__kernel void sgemm_reference(const int m, const int n, const int k, __global const float* a,
                              __global const float* b, __global float* c) {
  const int column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + column];
  c[row * n + column] = sum;
}
