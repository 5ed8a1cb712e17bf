// y [rows] = M [rows, k] * x [k], row-major in buffers, for each of several matrices: a product with
// one column, or with one row and B transposed. LANES work-items share a row, each taking every
// LANES-th vector of it: lws = {LANES, 1, 1}, gws = {LANES, rows, matrices}. Result i is of matrix
// (i / batch.x) % batch.y and vector (i / batch.z) % batch.w.
//   ONE_ROW  1: y is the row of its matrix, 0: the column
//   K_UNROLL vectors of a row that a work-item has on their way at once
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"
#ifndef ONE_ROW
#define ONE_ROW 0
#endif
#include "kernels/opencl/gemm/lanes.clh"

__kernel void gemm_vector_rows(const int rows, const int k,
                               __global const storage_t* restrict matrix, const int matrix_offset,
                               __global const storage_t* restrict x, const int x_offset,
                               __global storage_t* restrict y, const int y_offset,
                               const int4 batch ADDEND_PARAMS EXPRESSION_PARAMS) {
  SHARED_SUMS(float);
  const int lane = get_local_id(0);
  const int row = get_global_id(1);
  const int z = get_global_id(2);
  matrix += matrix_offset + (MatrixOf(z, batch.x, batch.y) * rows + row) * k;
  x += x_offset + MatrixOf(z, batch.z, batch.w) * k;
  vec_t products = (vec_t)(0.0f);
  UNROLLED for (int p = lane * VW; p < k; p += LANES * VW)
    products = MULTIPLY_ADD(LOAD_STEP(matrix, p, k - p), LOAD_STEP(x, p, k - p), products);
  float parts[VW];
  SPREAD(products, parts);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < VW; ++i) sum += parts[i];
  ADD_LANES(sum, lane);
  if (lane > 0) return;
  // The matrices of a column are `rows` rows high, those of a row one.
  const vec_t result = ONE_ROW ? FINISH_SUM((vec_t)(sum), z, row, 1)
                               : FINISH_SUM((vec_t)(sum), z * rows + row, 0, 1);
  SPREAD(result, parts);
  STORE(parts[0], y, y_offset + z * rows + row);
}
