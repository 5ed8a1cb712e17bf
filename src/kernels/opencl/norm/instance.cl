// Instance normalisation of planes: x and y in pixels of four channels (access.clh); work-groups of GROUP_ITEMS.
//   instance         a work-group normalises four planes: gws = {GROUP_ITEMS, channel blocks, batch}
//   instance_parts   each of a plane's parts of `span` pixels has a work-group of its own, which leaves its mean and the
//                    sum of its squared deviations from that: gws = {GROUP_ITEMS * parts, channel blocks, batch}
//   instance_joined  the same work-groups join what those left and normalise their parts
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

#if FETTLE_IMAGE
#define LOAD_PLACE(i) LOAD4(x, dims, n, block, (i) / dims.z, (i) % dims.z)
#else
#define LOAD_PLACE(i) LOAD_WHOLE(x, x_offset + (n * dims.x + block) * plane + (i))
#endif

// What lies between `first` and `last` of a plane, and loops over it.
#define PLACE                        \
  const int lane = get_local_id(0);  \
  const int block = get_global_id(1); \
  const int n = get_global_id(2);    \
  const int plane = dims.y * dims.z;
#define FOR_PLACES _Pragma("unroll 4") for (int i = first + lane; i < last; i += GROUP_ITEMS)
#define TAKE_STATISTICS                                      \
  float4 mean = (float4)(0.0f), squares = (float4)(0.0f);    \
  FOR_PLACES mean += LOAD_PLACE(i);                          \
  mean = JoinSum4(mean, scratch) / (last - first);           \
  FOR_PLACES {                                               \
    const float4 d = LOAD_PLACE(i) - mean;                   \
    squares += d * d;                                        \
  }                                                          \
  squares = JoinSum4(squares, scratch);
#define NORMALISE                                                                             \
  const float4 factor = vload4(block, scale + scale_offset) / sqrt(squares / plane + epsilon); \
  const float4 shift = vload4(block, bias + bias_offset);                                     \
  FOR_PLACES {                                                                                \
    const int row = i / dims.z, column = i % dims.z;                                          \
    const float4 v = (LOAD_PLACE(i) - mean) * factor + shift;                                 \
    const float4 result = FINISH(v, dims, n, block, row, column);                             \
    STORE4(result, y, dims, n, block, row, column);                                           \
  }

__kernel void instance(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 dims,
                       __global const float* restrict scale, const int scale_offset,
                       __global const float* restrict bias, const int bias_offset,
                       const float epsilon EXPRESSION_PARAMS) {
  __local float4 scratch[GROUP_ITEMS];
  PLACE
  const int first = 0, last = plane;
  TAKE_STATISTICS
  NORMALISE
}

__kernel void instance_parts(TENSOR_IN(x), const int4 dims, __global float4* restrict parts, const int parts_offset,
                             const int span, const int count) {
  __local float4 scratch[GROUP_ITEMS];
  PLACE
  const int part = (int)get_global_id(0) / GROUP_ITEMS, first = part * span, last = min(first + span, plane);
  TAKE_STATISTICS
  const int at = parts_offset + ((n * dims.x + block) * count + part) * 2;
  if (lane == 0) parts[at] = mean;
  if (lane == 0) parts[at + 1] = squares;
}

__kernel void instance_joined(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 dims,
                              __global const float* restrict scale, const int scale_offset,
                              __global const float* restrict bias, const int bias_offset, const float epsilon,
                              __global const float4* restrict parts, const int parts_offset,
                              const int span, const int count EXPRESSION_PARAMS) {
  __local float4 scratch[GROUP_ITEMS];
  PLACE
  const int at = parts_offset + (n * dims.x + block) * count * 2;
  const int first = (int)get_global_id(0) / GROUP_ITEMS * span, last = min(first + span, plane);
  float4 mean = (float4)(0.0f), squares = (float4)(0.0f);
  for (int p = lane; p < count; p += GROUP_ITEMS) mean += parts[at + p * 2] * min(span, plane - p * span);
  mean = JoinSum4(mean, scratch) / plane;
  for (int p = lane; p < count; p += GROUP_ITEMS) {
    const float4 d = parts[at + p * 2] - mean;
    squares += parts[at + p * 2 + 1] + d * d * min(span, plane - p * span);
  }
  squares = JoinSum4(squares, scratch);
  NORMALISE
}
