// Instance normalisation of planes: x and y in pixels of four channels (access.clh); a work-group
// of GROUP_ITEMS normalises four planes: gws = {GROUP_ITEMS, channel blocks, batch}.
//   scale, bias  four values per channel block, zero behind the last channel
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

#ifndef GROUP_ITEMS
#define GROUP_ITEMS 64
#endif

// The sum over the work-group, known to all its items.
static float4 JoinSum4(const float4 v, __local float4* scratch) {
  const int lane = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[lane] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = GROUP_ITEMS / 2; half_size > 0; half_size /= 2) {
    if (lane < half_size) scratch[lane] += scratch[lane + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

__kernel void instance(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 dims,
                       __global const float* restrict scale, const int scale_offset,
                       __global const float* restrict bias, const int bias_offset,
                       const float epsilon EXPRESSION_PARAMS) {
  __local float4 scratch[GROUP_ITEMS];
  const int lane = get_local_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  const int plane = dims.y * dims.z;
  float4 mean = (float4)(0.0f);
  for (int i = lane; i < plane; i += GROUP_ITEMS)
    mean += LOAD4(x, x_dims, n, block, i / dims.z, i % dims.z);
  mean = JoinSum4(mean, scratch) / plane;
  float4 variance = (float4)(0.0f);
  for (int i = lane; i < plane; i += GROUP_ITEMS) {
    const float4 d = LOAD4(x, x_dims, n, block, i / dims.z, i % dims.z) - mean;
    variance += d * d;
  }
  variance = JoinSum4(variance, scratch) / plane;
  const float4 factor = vload4(block, scale + scale_offset) / sqrt(variance + epsilon);
  const float4 shift = vload4(block, bias + bias_offset);
  for (int i = lane; i < plane; i += GROUP_ITEMS) {
    const int row = i / dims.z, column = i % dims.z;
    const float4 v = (LOAD4(x, x_dims, n, block, row, column) - mean) * factor + shift;
    const float4 result = FINISH(v, dims, n, block, row, column);
    STORE4(result, y, dims, n, block, row, column);
  }
}
