// Maximum or average over windows of a plane or a volume; the whole of it for the global ones. x and y are in
// pixels of four channels (access.clh), planes of a volume below each other. ITEMS work-items make one pixel of y:
// gws = {depth * height * width * ITEMS, channel blocks, batch}, lws = {ITEMS, 1, 1} where there are several.
//   kind              0 maximum, of windows that all hold a pixel of x, 1 average of what lies inside, 2 average with padding
//   of_depth          depth of x, and of the window, its stride and dilation between planes
//   padded_depth      depth of y, padding in front, depth of x + padding behind
//   kernel_stride     kernel height and width, stride down and across
//   dilation_pad      dilation down and across, padding above and left of the input
//   padded            input height + padding below, width + padding right: what kind 2 counts up to
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

#ifndef ITEMS
#define ITEMS 1
#endif

// NaN stays.
static float4 Join(const int kind, const float4 v, const float4 w) {
  return kind == 0 ? select(v, w, isgreater(w, v) | isnan(w)) : v + w;
}

__kernel void window(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 y_dims,
                     const int kind, const int4 of_depth, const int4 padded_depth,
                     const int4 kernel_stride, const int4 dilation_pad,
                     const int2 padded EXPRESSION_PARAMS) {
  const int place = get_global_id(0) / ITEMS;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (place >= y_dims.y * y_dims.z || block >= y_dims.x) return;
  const int row = place / y_dims.z, column = place % y_dims.z;
  const int height = x_dims.y / of_depth.x, y_height = y_dims.y / padded_depth.x;
  const int front = row / y_height * of_depth.z - padded_depth.y;
  const int top = row % y_height * kernel_stride.z - dilation_pad.z;
  const int left = column * kernel_stride.w - dilation_pad.w;
  float4 v = kind == 0 ? (float4)(-INFINITY) : (float4)(0.0f);
  int2 inside_counted = 0;
  // Taps of all planes are counted together: of an image they are its rows.
#if ITEMS == 1
  for (int i = 0; i < of_depth.y * kernel_stride.x; ++i)
    for (int j = 0; j < kernel_stride.y; ++j) {
#else
  const int lane = get_local_id(0);
  {
    for (int tap = lane; tap < of_depth.y * kernel_stride.x * kernel_stride.y; tap += ITEMS) {
      const int i = tap / kernel_stride.y, j = tap % kernel_stride.y;
#endif
      const int at_z = front + i / kernel_stride.x * of_depth.w;
      const int at_y = top + i % kernel_stride.x * dilation_pad.x;
      const int at_x = left + j * dilation_pad.y;
      inside_counted.y += at_z < padded_depth.z && at_y < padded.x && at_x < padded.y;
      if (at_z < 0 || at_z >= of_depth.x || at_y < 0 || at_y >= height || at_x < 0 || at_x >= x_dims.z) continue;
      ++inside_counted.x;
      v = Join(kind, v, LOAD4(x, x_dims, n, block, at_z * height + at_y, at_x));
    }
#if ITEMS > 1
  }
  __local float4 parts[ITEMS];
  __local int2 counts[ITEMS];
  parts[lane] = v;
  counts[lane] = inside_counted;
  for (int half_way = ITEMS / 2; half_way > 0; half_way /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_way) {
      parts[lane] = Join(kind, parts[lane], parts[lane + half_way]);
      counts[lane] += counts[lane + half_way];
    }
  }
  if (lane > 0) return;
  v = parts[0];
  inside_counted = counts[0];
#endif
  // The average of padding alone is 0.
  if (kind != 0) v /= (float)max(kind == 1 ? inside_counted.x : inside_counted.y, 1);
  const float4 result = FINISH(v, y_dims, n, block, row, column);
  STORE4(result, y, y_dims, n, block, row, column);
}
