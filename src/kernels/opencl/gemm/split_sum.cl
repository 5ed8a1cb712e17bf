// C [m, n] = the sum over `parts` of f32 partial products [parts, m, n], in order: the second half of
// a product split along k. A work-item makes one output: gws = {n, m}.
#define VW 1
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

__kernel void gemm_split_sum(const int m, const int n, const int parts,
                             __global const float* restrict partial, const int partial_offset,
                             __global storage_t* restrict c, const int c_offset ADDEND_PARAMS EXPRESSION_PARAMS) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  if (column >= n || row >= m) return;
  float sum = 0.0f;
  for (int i = 0; i < parts; ++i) sum += partial[partial_offset + (i * m + row) * n + column];
  STORE(FINISH_SUM(sum, row, column, 1), c, c_offset + row * n + column);
}
