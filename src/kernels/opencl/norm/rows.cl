// Normalises rows of [count, row] (rows.clh, inner 1): (x - mean) / sqrt(variance + epsilon) *
// scale + bias; row-major buffers of the storage type (access.clh). Layer, instance and group
// normalisation differ in where scale and bias lie: element i of row r takes number
// (r % groups) * channels + i / space of both.
//   takes_mean  0: root mean square, no mean
//   has_bias    0: none
#include "kernels/opencl/access.clh"
#include "kernels/opencl/rows.clh"

__kernel void rows(__global const storage_t* restrict x, const int x_offset,
                   __global storage_t* restrict y, const int y_offset,
                   __global const float* restrict scale, const int scale_offset,
                   __global const float* restrict bias, const int bias_offset,
                   const int takes_mean, const int has_bias, const float epsilon, const int count,
                   const int row, const int groups, const int channels, const int space) {
  DECLARE_ROW_SCRATCH
  const int index = ROW_INDEX;
  RETURN_BEYOND(count)
  __global const storage_t* from = x + x_offset + index * row;
  __global storage_t* to = y + y_offset + index * row;
  float mean = 0.0f;
  if (takes_mean) {
    for (int i = ROW_LANE; i < row; i += ROW_ITEMS) mean += LOAD(from, i);
    mean = JOIN_SUM(mean) / row;
  }
  // The deviations, not the squares less the square of the mean: those would cancel.
  float variance = 0.0f;
  for (int i = ROW_LANE; i < row; i += ROW_ITEMS) {
    const float d = LOAD(from, i) - mean;
    variance += d * d;
  }
  variance = JOIN_SUM(variance) / row;
  const float factor = 1.0f / sqrt(variance + epsilon);
  const int first = index % groups * channels;
  for (int i = ROW_LANE; i < row; i += ROW_ITEMS) {
    const int channel = first + i / space;
    const float v = (LOAD(from, i) - mean) * factor * scale[scale_offset + channel];
    STORE(has_bias ? v + bias[bias_offset + channel] : v, to, i);
  }
}
