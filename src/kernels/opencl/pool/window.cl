// Maximum or average over windows of a plane or a volume; the whole of it for the global ones. x and y are in
// pixels of four channels (access.clh), planes of a volume below each other. ITEMS work-items make one pixel of y:
// gws = {depth * height * width * ITEMS, channel blocks, batch}, lws = {ITEMS, 1, 1} where there are several.
//   WHOLE             1: the window is all of x, and there are several ITEMS
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
#ifndef WHOLE
#define WHOLE 0
#endif

// The taps of an axis that lie inside: from .x up to .y, of `count` that begin at `first`.
static int2 TapsInside(const int first, const int step, const int count, const int extent) {
  const int begin = first < 0 ? (step - 1 - first) / step : 0;
  const int end = first < extent ? min(count, (extent - 1 - first) / step + 1) : 0;
  return (int2)(begin, max(begin, end));
}

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
#if WHOLE
  const int inside = x_dims.y * x_dims.z;
#else
  const int height = x_dims.y / of_depth.x, y_height = y_dims.y / padded_depth.x;
  const int front = row / y_height * of_depth.z - padded_depth.y;
  const int top = row % y_height * kernel_stride.z - dilation_pad.z;
  const int left = column * kernel_stride.w - dilation_pad.w;
  const int2 planes = TapsInside(front, of_depth.w, of_depth.y, of_depth.x);
  const int2 rows = TapsInside(top, dilation_pad.x, kernel_stride.x, height);
  const int2 columns = TapsInside(left, dilation_pad.y, kernel_stride.y, x_dims.z);
  const int row_taps = rows.y - rows.x, column_taps = columns.y - columns.x;
  const int inside = (planes.y - planes.x) * row_taps * column_taps;
#endif
  float4 v = kind == 0 ? (float4)(-INFINITY) : (float4)(0.0f);
#if ITEMS == 1
  for (int i = 0; i < (planes.y - planes.x) * row_taps; ++i) {
    const int z = front + (planes.x + i / row_taps) * of_depth.w, at_y = top + (rows.x + i % row_taps) * dilation_pad.x;
    for (int j = columns.x; j < columns.y; ++j)
      v = Join(kind, v, LOAD4(x, x_dims, n, block, z * height + at_y, left + j * dilation_pad.y));
  }
#else
  __local float4 parts[ITEMS];
  const int lane = get_local_id(0);
  for (int tap = lane; tap < inside; tap += ITEMS) {
#if WHOLE
    v = Join(kind, v, LOAD4(x, x_dims, n, block, tap / x_dims.z, tap % x_dims.z));
#else
    const int i = tap / column_taps, at_x = left + (columns.x + tap % column_taps) * dilation_pad.y;
    const int z = front + (planes.x + i / row_taps) * of_depth.w, at_y = top + (rows.x + i % row_taps) * dilation_pad.x;
    v = Join(kind, v, LOAD4(x, x_dims, n, block, z * height + at_y, at_x));
#endif
  }
  parts[lane] = v;
  for (int half_way = ITEMS / 2; half_way > 0; half_way /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_way) parts[lane] = Join(kind, parts[lane], parts[lane + half_way]);
  }
  if (lane > 0) return;
  v = parts[0];
#endif
#if WHOLE
  if (kind != 0) v /= (float)inside;
#else
  if (kind != 0) {
    const int counted = TapsInside(front, of_depth.w, of_depth.y, padded_depth.z).y *
                        TapsInside(top, dilation_pad.x, kernel_stride.x, padded.x).y *
                        TapsInside(left, dilation_pad.y, kernel_stride.y, padded.y).y;
    // The average of padding alone is 0.
    v /= (float)max(kind == 1 ? inside : counted, 1);
  }
#endif
  const float4 result = FINISH(v, y_dims, n, block, row, column);
  STORE4(result, y, y_dims, n, block, row, column);
}
