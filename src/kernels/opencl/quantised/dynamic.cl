// DynamicQuantizeLinear: first the range of the input, in parts, then bytes of every element.
//   PIXELS 1: x in pixels (access.clh), y a NCHW4c buffer of uchar
//          0: both row-major buffers; a pixel is four neighbours, dims = (pixels, 1, 1, 1)
//   dynamic_range     gws = {parts * ROW_ITEMS}; parts [parts] (least, greatest), zero among them
//   dynamic_quantise  gws = {groups * ROW_ITEMS}, each of which joins all parts, ROW_ITEMS at most; scale [1] of the
//                     storage type, zero point uchar[1]
// lws = {ROW_ITEMS}. Pad lanes are zero on both sides.
#ifndef PIXELS
#define PIXELS 1
#endif
#include "kernels/opencl/access.clh"
#include "kernels/opencl/rows.clh"

#if PIXELS
#define INPUT TENSOR_IN(x)
#define LOAD_PIXEL(i) \
  LOAD4(x, dims, (i) / (dims.x * dims.y * dims.z), (i) / (dims.y * dims.z) % dims.x, \
        (i) / dims.z % dims.y, (i) % dims.z)
#else
#define INPUT __global const storage_t* restrict x, const int x_offset
#define LOAD_PIXEL(i) LoadPixel(x + x_offset + (i) * 4, channels - (i) * 4)
static float4 LoadPixel(__global const storage_t* restrict p, const int left) {
  if (left >= 4) return LOAD_VEC4(p, 0);
  return (float4)(LOAD(p, 0), left > 1 ? LOAD(p, 1) : 0.0f, left > 2 ? LOAD(p, 2) : 0.0f, 0.0f);
}
#endif

// `channels`: of a pixel's tensor; of a row-major one all elements. `items` take part.
__kernel void dynamic_range(INPUT, __global float* restrict parts, const int parts_offset,
                            const int4 dims, const int channels, const int items) {
  DECLARE_ROW_SCRATCH
  const int pixels = dims.x * dims.y * dims.z * dims.w;
  float4 low = (float4)(0.0f), high = (float4)(0.0f);
  for (int i = get_global_id(0); i < pixels; i += items) {
    const float4 v = LOAD_PIXEL(i);
    low = fmin(low, v);
    high = fmax(high, v);
  }
  const float least = JOIN_MIN(fmin(fmin(low.x, low.y), fmin(low.z, low.w)));
  const float greatest = JOIN_MAX(fmax(fmax(high.x, high.y), fmax(high.z, high.w)));
  if (get_local_id(0) == 0) {
    const int part = (int)get_global_id(0) / ROW_ITEMS;
    vstore2((float2)(least, greatest), part, parts + parts_offset);
  }
}

__kernel void dynamic_quantise(INPUT, __global uchar* restrict y, const int y_offset,
                               __global storage_t* restrict scale_at,
                               const int scale_offset,
                               __global uchar* restrict zero_at, const int zero_offset,
                               __global const float* restrict parts, const int parts_offset,
                               const int4 dims, const int channels, const int count,
                               const int items) {
  DECLARE_ROW_SCRATCH
  const int lane = get_local_id(0);
  const float2 part = lane < count ? vload2(lane, parts + parts_offset) : (float2)(0.0f);
  const float low = JOIN_MIN(part.x);
  const float high = JOIN_MAX(part.y);
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = rint(fmax(fmin(-low / scale, 255.0f), 0.0f));  // 255 of an infinite range
  if (get_global_id(0) == 0) {
    STORE(scale, scale_at, scale_offset);
    zero_at[zero_offset] = convert_uchar(zero);
  }
  const int pixels = dims.x * dims.y * dims.z * dims.w;
  for (int i = get_global_id(0); i < pixels; i += items) {
    const float4 steps = clamp(rint(LOAD_PIXEL(i) / scale) + zero, 0.0f, 255.0f);
#if PIXELS
    const int4 lanes = i / (dims.y * dims.z) % dims.x * 4 + (int4)(0, 1, 2, 3);
    const int4 bytes = select((int4)(0), convert_int4(steps), lanes < channels);
    vstore4(convert_uchar4(bytes), y_offset + i, y);
#else
    const uchar4 bytes = convert_uchar4(steps);
    const int left = channels - i * 4;
    __global uchar* to = y + y_offset + i * 4;
    to[0] = bytes.x;
    if (left > 1) to[1] = bytes.y;
    if (left > 2) to[2] = bytes.z;
    if (left > 3) to[3] = bytes.w;
#endif
  }
}
