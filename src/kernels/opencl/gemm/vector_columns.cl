// y [columns] = x [k] * M [k, columns], row-major in buffers, for each of several matrices: a product
// with one row. LANES work-items share a vector of VW columns, each taking every LANES-th step of k:
// lws = {1, LANES, 1}, gws = {ceil(columns / VW), LANES, matrices}. Result i is of vector
// (i / batch.x) % batch.y and matrix (i / batch.z) % batch.w.
//   K_UNROLL rows of a vector that a work-item has on their way at once
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"
#include "kernels/opencl/gemm/lanes.clh"

__kernel void gemm_vector_columns(const int columns, const int k,
                                  __global const storage_t* restrict x, const int x_offset,
                                  __global const storage_t* restrict matrix,
                                  const int matrix_offset, __global storage_t* restrict y,
                                  const int y_offset, const int4 batch ADDEND_PARAMS EXPRESSION_PARAMS) {
  SHARED_SUMS(vec_t);
  const int column = get_global_id(0) * VW;
  const int lane = get_local_id(1);
  const int z = get_global_id(2);
  x += x_offset + MatrixOf(z, batch.x, batch.y) * k;
  matrix += matrix_offset + MatrixOf(z, batch.z, batch.w) * k * columns;
  const int left = columns - column;
  vec_t sum = (vec_t)(0.0f);
  UNROLLED for (int p = lane; p < k; p += LANES)
    sum = MULTIPLY_ADD((vec_t)(LOAD(x, p)), LOAD_STEP(matrix, p * columns + column, left), sum);
  ADD_LANES(sum, lane);
  if (lane == 0)
    StoreColumns(FINISH_SUM(sum, z, column, left), y, y_offset + z * columns + column, left);
}
