// RoiAlign: means of samples of regions. x and y are in pixels of four channels (access.clh); a
// work-item makes one pixel of y: gws = {height * width, channel blocks, regions}.
//   INDEX     int or long
//   regions   f32 (x1, y1, x2, y2), whatever the storage of the pixels
//   pictures  of each region, the batch index of its picture; those out of range take the nearest
//   map       (scale, shift): position = coordinate * scale - shift
//   samples   of a pixel of y, along either axis
//   least     length of a region, in pixels of x
#include "kernels/opencl/access.clh"

#ifndef INDEX
#define INDEX long
#endif

// Positions are sums (x + y) of two floats: what is left of a position between its pixels would
// else be rounded as the position is. T. J. Dekker, A floating-point technique for extending the
// available precision, 1971.
#pragma OPENCL FP_CONTRACT OFF
static float2 Sum(const float a, const float b) {
  const float sum = a + b, of_b = sum - a;
  return (float2)(sum, (a - (sum - of_b)) + (b - of_b));
}
static float2 Product(const float a, const float b) {
  const float product = a * b;
  return (float2)(product, fma(a, b, -product));
}

// coordinate * map.x - map.y.
static float2 EndOf(const float coordinate, const float2 map) {
  const float2 end = Product(coordinate, map.x), shifted = Sum(end.x, -map.y);
  return (float2)(shifted.x, shifted.y + end.y);
}

// The length of an axis of a region, at least `least`.
static float2 LengthOf(const float2 begin, const float2 end, const float least) {
  const float2 length = Sum(end.x, -begin.x);
  return length.x < least ? (float2)(least, 0.0f)
                          : (float2)(length.x, length.y + (end.y - begin.y));
}

// The position of sample i of `count` of a region.
static float2 PositionOf(const float2 begin, const float2 length, const int i, const int count) {
  const float above = (float)(2 * i + 1), below = (float)(2 * count), part = above / below;
  const float2 along = Product(length.x, part);
  const float2 at = Sum(begin.x, along.x);
  const float part_left = fma(-part, below, above) / below;
  return (float2)(at.x, at.y + (begin.y + along.y + length.x * part_left + length.y * part));
}

// Whether a sample counts; those outside are 0.
static int IsInside(const float at, const int extent) {
  return at >= -1.0f && at <= (float)extent;
}

// The first of the two pixels that a position lies between, and the weight of the second.
static int FirstOf(const float2 at, const int extent, float* ratio) {
  const float held = clamp(at.x, 0.0f, (float)(extent - 1));
  const int first = (int)held;
  *ratio = held == at.x ? (held - (float)first) + at.y : 0.0f;
  return first;
}

__kernel void align_regions(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 y_dims,
                            __global const float* restrict regions, const int regions_offset,
                            __global const INDEX* restrict pictures, const int pictures_offset,
                            const float2 map, const int samples, const float least) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int k = get_global_id(2);
  if (place >= y_dims.y * y_dims.z || block >= y_dims.x) return;
  const int2 cell = (int2)(place % y_dims.z, place / y_dims.z);
  const int n = (int)clamp(pictures[pictures_offset + k], (INDEX)0, (INDEX)(x_dims.w - 1));
  const float4 corners = vload4(k, regions + regions_offset);
  const float2 left = EndOf(corners.x, map), top = EndOf(corners.y, map);
  const float2 width = LengthOf(left, EndOf(corners.z, map), least);
  const float2 height = LengthOf(top, EndOf(corners.w, map), least);
  float4 sum = (float4)(0.0f);
  for (int i = 0; i < samples; ++i) {
    const float2 row = PositionOf(top, height, cell.y * samples + i, y_dims.y * samples);
    float down, across;
    const int above = FirstOf(row, x_dims.y, &down), below = min(above + 1, x_dims.y - 1);
    for (int j = 0; j < samples; ++j) {
      const float2 column = PositionOf(left, width, cell.x * samples + j, y_dims.z * samples);
      const int before = FirstOf(column, x_dims.z, &across), behind = min(before + 1, x_dims.z - 1);
      if (IsInside(row.x, x_dims.y) && IsInside(column.x, x_dims.z))
        sum += (1.0f - down) * ((1.0f - across) * LOAD4(x, x_dims, n, block, above, before) +
                                across * LOAD4(x, x_dims, n, block, above, behind)) +
               down * ((1.0f - across) * LOAD4(x, x_dims, n, block, below, before) +
                       across * LOAD4(x, x_dims, n, block, below, behind));
    }
  }
  STORE4(sum / (float)(samples * samples), y, y_dims, k, block, cell.y, cell.x);
}
