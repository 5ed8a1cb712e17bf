// Normalises rows of [count, row] (rows.clh, inner 1): (x - mean) / sqrt(variance + epsilon) *
// scale + bias; row-major buffers of the storage type (access.clh). Layer, instance and group
// normalisation differ in where scale and bias lie: element i of row r takes number
// (r % groups) * channels + i / space of both.
//   rows         gws as rows.clh says
//   rows_parts   each of a row's parts of `span` elements has a work-group of its own, which leaves its mean and the sum
//                of its squared deviations from that: gws = {ROW_ITEMS, rows, parts}
//   rows_joined  the same work-groups join what those left and normalise their parts
//   takes_mean  0: root mean square, no mean
//   has_bias    0: none
//   HELD        a work-item keeps its elements of the row, so many at most; 0: reads them again
#include "kernels/opencl/access.clh"
#include "kernels/opencl/rows.clh"
#ifndef HELD
#define HELD 0
#endif
#if HELD
// Elements beyond the row do not count.
#define FOR_ELEMENTS _Pragma("unroll") for (int h = 0, i = ROW_LANE; h < HELD; ++h, i += ROW_ITEMS)
#define DECLARE_ELEMENTS float held[HELD];
#define READ_ELEMENT (held[h] = i < row ? LOAD(from, i) : 0.0f)
#define DEVIATION (i < row ? held[h] - mean : 0.0f)
#define INSIDE if (i < row)
#else
#define FOR_ELEMENTS for (int i = ROW_LANE; i < row; i += ROW_ITEMS)
#define DECLARE_ELEMENTS
#define READ_ELEMENT LOAD(from, i)
#define DEVIATION (LOAD(from, i) - mean)
#define INSIDE
#endif

__kernel void rows(__global const storage_t* restrict x, const int x_offset,
                   __global storage_t* restrict y, const int y_offset,
                   __global const float* restrict scale, const int scale_offset,
                   __global const float* restrict bias, const int bias_offset,
                   const int takes_mean, const int has_bias, const float epsilon, const int count,
                   const int row, const int groups, const int channels, const int space) {
  DECLARE_ROW_SCRATCH
  const int index = ROW_INDEX(count);
  RETURN_BEYOND(count)
  __global const storage_t* from = x + x_offset + index * row;
  __global storage_t* to = y + y_offset + index * row;
  DECLARE_ELEMENTS
  float mean = 0.0f;
  FOR_ELEMENTS mean += READ_ELEMENT;
  mean = JOIN_SUM(mean) / row;
  if (!takes_mean) mean = 0.0f;
  // The deviations, not the squares less the square of the mean: those would cancel.
  float variance = 0.0f;
  FOR_ELEMENTS {
    const float d = DEVIATION;
    variance += d * d;
  }
  variance = JOIN_SUM(variance) / row;
  const float factor = 1.0f / sqrt(variance + epsilon);
  const int first = index % groups * channels;
  FOR_ELEMENTS INSIDE {
    const int channel = first + (space == 1 ? i : i / space);
    const float v = DEVIATION * factor * scale[scale_offset + channel];
    STORE(has_bias ? v + bias[bias_offset + channel] : v, to, i);
  }
}

#if ROW_ITEMS > 1 && ROW_COLUMNS == 1
#define FOR_PART _Pragma("unroll 4") for (int i = first + ROW_LANE; i < last; i += ROW_ITEMS)

__kernel void rows_parts(__global const storage_t* restrict x, const int x_offset, __global float2* restrict parts,
                         const int parts_offset, const int row, const int span, const int count) {
  DECLARE_ROW_SCRATCH
  const int index = get_global_id(1), part = get_global_id(2), first = part * span, last = min(first + span, row);
  __global const storage_t* from = x + x_offset + index * row;
  float mean = 0.0f, squares = 0.0f;
  FOR_PART mean += LOAD(from, i);
  mean = JOIN_SUM(mean) / (last - first);
  FOR_PART {
    const float d = LOAD(from, i) - mean;
    squares += d * d;
  }
  squares = JOIN_SUM(squares);
  if (ROW_LANE == 0) parts[parts_offset + index * count + part] = (float2)(mean, squares);
}

__kernel void rows_joined(__global const storage_t* restrict x, const int x_offset,
                          __global storage_t* restrict y, const int y_offset,
                          __global const float* restrict scale, const int scale_offset,
                          __global const float* restrict bias, const int bias_offset,
                          const int takes_mean, const int has_bias, const float epsilon, const int row,
                          const int groups, const int channels, const int space,
                          __global const float2* restrict parts, const int parts_offset, const int span,
                          const int count) {
  DECLARE_ROW_SCRATCH
  const int index = get_global_id(1), at = parts_offset + index * count;
  const int first = (int)get_global_id(2) * span, last = min(first + span, row);
  float mean = 0.0f, squares = 0.0f;
  for (int p = ROW_LANE; p < count; p += ROW_ITEMS) mean += parts[at + p].x * min(span, row - p * span);
  mean = JOIN_SUM(mean) / row;
  if (!takes_mean) mean = 0.0f;
  for (int p = ROW_LANE; p < count; p += ROW_ITEMS) {
    const float d = parts[at + p].x - mean;
    squares += parts[at + p].y + d * d * min(span, row - p * span);
  }
  const float factor = 1.0f / sqrt(JOIN_SUM(squares) / row + epsilon);
  const int first_channel = index % groups * channels;
  __global const storage_t* from = x + x_offset + index * row;
  __global storage_t* to = y + y_offset + index * row;
  FOR_PART {
    const int channel = first_channel + (space == 1 ? i : i / space);
    const float v = (LOAD(from, i) - mean) * factor * scale[scale_offset + channel];
    STORE(has_bias ? v + bias[bias_offset + channel] : v, to, i);
  }
}
#endif
