// Distances of the rows of a (rows x length) from those of b (others x length), row-major buffers
// of the storage type (access.clh); gws = {others, rows}.
//   root  1: the square root of the sums
#include "kernels/opencl/access.clh"

__kernel void pairs(__global const storage_t* restrict a, const int a_offset,
                    __global const storage_t* restrict b, const int b_offset,
                    __global storage_t* restrict y, const int y_offset, const int others,
                    const int rows, const int length, const int root) {
  const int n = get_global_id(0);
  const int m = get_global_id(1);
  if (n >= others || m >= rows) return;
  __global const storage_t* left = a + a_offset + m * length;
  __global const storage_t* right = b + b_offset + n * length;
  float sum = 0.0f;
  for (int k = 0; k < length; ++k) {
    const float step = LOAD(left, k) - LOAD(right, k);
    sum = fma(step, step, sum);
  }
  __global storage_t* to = y + y_offset + m * others + n;
  STORE(root ? sqrt(sum) : sum, to, 0);
}
