// C [M, N] = A [M, K] * B [K, N], row-major; M, N and K are multiples of the tile. A work-item makes
// TM rows of TN vectors of VW columns: gws = {N / (VW * TN), M / TM}, exchanged where ROWS_FIRST.
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 1
#endif
#ifndef VW
#define VW 4
#endif
#ifndef ROWS_FIRST
#define ROWS_FIRST 0
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VEC JOIN(float, VW)
#define LOAD JOIN(vload, VW)
#define STORE JOIN(vstore, VW)

__kernel void sgemm(const int m, const int n, const int k, __global const float* restrict a,
                    __global const float* restrict b, __global float* restrict c) {
  const int column = get_global_id(ROWS_FIRST ? 1 : 0) * (VW * TN);
  const int row = get_global_id(ROWS_FIRST ? 0 : 1) * TM;
  VEC sum[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = (VEC)(0.0f);
  for (int p = 0; p < k; ++p) {
    VEC right[TN];
#pragma unroll
    for (int j = 0; j < TN; ++j) right[j] = LOAD(j, b + p * n + column);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) sum[i][j] = fma((VEC)(a[(row + i) * k + p]), right[j], sum[i][j]);
  }
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
