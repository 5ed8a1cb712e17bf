// Maximum or average of whole planes. x and y are in pixels of four channels (access.clh); a
// work-group of GROUP_ITEMS makes one pixel of y: gws = {GROUP_ITEMS, channel blocks, batch}.
//   kind  0 maximum, else average
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

#ifndef GROUP_ITEMS
#define GROUP_ITEMS 64
#endif

// NaN stays.
static float4 Join(const int kind, const float4 v, const float4 w) {
  return kind == 0 ? select(v, w, isgreater(w, v) | isnan(w)) : v + w;
}

__kernel void plane(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 y_dims,
                    const int kind EXPRESSION_PARAMS) {
  __local float4 parts[GROUP_ITEMS];
  const int lane = get_local_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  const int pixels = x_dims.y * x_dims.z;
  float4 v = kind == 0 ? (float4)(-INFINITY) : (float4)(0.0f);
  for (int i = lane; i < pixels; i += GROUP_ITEMS)
    v = Join(kind, v, LOAD4(x, x_dims, n, block, i / x_dims.z, i % x_dims.z));
  parts[lane] = v;
  for (int half_way = GROUP_ITEMS / 2; half_way > 0; half_way /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_way) parts[lane] = Join(kind, parts[lane], parts[lane + half_way]);
  }
  if (lane > 0) return;
  const float4 joined = kind == 0 ? parts[0] : parts[0] / (float)pixels;
  const float4 result = FINISH(joined, y_dims, n, block, 0, 0);
  STORE4(result, y, y_dims, n, block, 0, 0);
}
