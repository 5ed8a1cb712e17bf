// C [m, n] = A [m, k] * B [k, n], row-major in buffers. A sub-group makes TM rows of as many vectors
// as it has work-items: each reads another step of A and hands it to all. A work-group is a
// sub-group: lws = {SUB_GROUP, 1}, gws = {ceil(n / (SUB_GROUP * VW)) * SUB_GROUP, ceil(m / TM)}.
//   SUB_GROUP  work-items of a sub-group
//   EMULATED   1: broadcasts go through local memory, which is right anywhere and shows nothing
#ifndef SUB_GROUP
#define SUB_GROUP 16
#endif
#ifndef TM
#define TM 8
#endif
#ifndef EMULATED
#define EMULATED 1
#endif
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

#if !EMULATED
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef cl_intel_required_subgroup_size
#define SUB_GROUP_SIZE __attribute__((intel_reqd_sub_group_size(SUB_GROUP)))
#endif
#endif
#ifndef SUB_GROUP_SIZE
#define SUB_GROUP_SIZE
#endif

SUB_GROUP_SIZE __kernel __attribute__((reqd_work_group_size(SUB_GROUP, 1, 1))) void gemm_sub_groups(
    const int m, const int n, const int k, __global const storage_t* restrict a, const int a_offset,
    __global const storage_t* restrict b, const int b_offset, __global storage_t* restrict c,
    const int c_offset ADDEND_PARAMS EXPRESSION_PARAMS) {
#if EMULATED
  __local float shared[TM][SUB_GROUP];
#endif
  const int lane = get_local_id(0);
  const int column = get_global_id(0) * VW;
  const int row = get_global_id(1) * TM;
  const int left = n - column;
  vec_t sum[TM];
#pragma unroll
  for (int i = 0; i < TM; ++i) sum[i] = (vec_t)(0.0f);
  for (int p0 = 0; p0 < k; p0 += SUB_GROUP) {
    const int p = p0 + lane;
    float mine[TM];
#pragma unroll
    for (int i = 0; i < TM; ++i)
      mine[i] = p < k ? LOAD(a, a_offset + min(row + i, m - 1) * k + p) : 0.0f;
#if EMULATED
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TM; ++i) shared[i][lane] = mine[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#define BROADCAST(i, from) shared[i][from]
#else
#define BROADCAST(i, from) sub_group_broadcast(mine[i], from)
#endif
#pragma unroll
    for (int s = 0; s < SUB_GROUP; ++s) {
      const int inside = p0 + s < k ? left : 0;
      const vec_t right = LoadColumns(b, b_offset + (p0 + s) * n + column, inside);
#pragma unroll
      for (int i = 0; i < TM; ++i)
        sum[i] = MULTIPLY_ADD((vec_t)(BROADCAST(i, s)), right, sum[i]);
    }
  }
  if (left <= 0) return;
#pragma unroll
  for (int i = 0; i < TM; ++i)
    if (row + i < m)
      StoreColumns(FINISH_SUM(sum[i], row + i, column, left), c, c_offset + (row + i) * n + column,
                   left);
}
