// Normalises rows of [count, row] (rows.clh, inner 1): (x - mean) / sqrt(variance + epsilon) *
// scale + bias; row-major buffers of the storage type (access.clh). Layer, instance and group
// normalisation differ in where scale and bias lie: element i of row r takes number
// (r % groups) * channels + i / space of both.
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
