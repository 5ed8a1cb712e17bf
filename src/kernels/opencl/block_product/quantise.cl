// Rows of floats as bytes (units.clh): low and high [rows][UNITS], steps [rows][UNITS]. gws = {blocks, rows}.
#include "kernels/opencl/block_product/units.clh"

__kernel void quantise(__global const float* restrict x, const int x_offset, __global int4* restrict low,
                       const int low_offset, __global int4* restrict high, const int high_offset,
                       __global float2* restrict steps, const int steps_offset, const int rows) {
  const int block = get_global_id(0), row = get_global_id(1);
  if (block >= BLOCKS || row >= rows) return;
  ROUND_BLOCK(x + x_offset + row * BLOCKS * BLOCK, block, low + low_offset + row * UNITS,
              high + high_offset + row * UNITS, steps + steps_offset + row * UNITS)
}
