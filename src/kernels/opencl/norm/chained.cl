// LayerNormalization or RMSNormalization of what element-wise operators make: the expression in front of this
// text, four values at a time. A work-group of ROW_ITEMS work-items (rows.clh) has a row of `row` elements, each
// work-item HELD quads of it; row-major buffers of the storage type (access.clh).
//   SUMS  1: what is normalised is stored, too, in `x`
// `columns` are those that the expression counts: a multiple of 4, as is `row`.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/rows.clh"
#ifndef HELD
#define HELD 1
#endif
#ifndef SUMS
#define SUMS 0
#endif
#if SUMS
#define SUMS_PARAM __global storage_t *restrict x, const int x_offset,
#else
#define SUMS_PARAM
#endif
#define FOR_QUADS _Pragma("unroll") for (int h = 0, i = ROW_LANE * 4; h < HELD; ++h, i += ROW_ITEMS * 4)

static float SumOfQuad(const float4 v) { return (v.x + v.y) + (v.z + v.w); }

__kernel void chained(SUMS_PARAM __global storage_t* restrict y, const int y_offset,
                      __global const float* restrict scale, const int scale_offset,
                      __global const float* restrict bias, const int bias_offset, const int takes_mean,
                      const int has_bias, const float epsilon, const int row,
                      const int columns EXPRESSION_PARAMS) {
  DECLARE_ROW_SCRATCH
  const int first = (int)get_global_id(1) * row;
  float4 held[HELD];
  float mean = 0.0f, variance = 0.0f;
  FOR_QUADS {
    held[h] = 0.0f;
    if (i < row) {
      held[h] = WIDE(FINISH_ROWS((REAL4)((REAL)0), (first + i) / columns, (first + i) % columns), 4);
#if SUMS
      STORE_VEC4(held[h], x + x_offset + first + i, 0);
#endif
    }
    mean += SumOfQuad(held[h]);
  }
  mean = takes_mean ? JOIN_SUM(mean) / row : 0.0f;
  // The deviations, not the squares less the square of the mean: those would cancel.
  FOR_QUADS {
    const float4 d = i < row ? held[h] - mean : (float4)(0.0f);
    variance += SumOfQuad(d * d);
  }
  variance = JOIN_SUM(variance) / row;
  const float factor = 1.0f / sqrt(variance + epsilon);
  FOR_QUADS {
    if (i >= row) break;
    float4 v = (held[h] - mean) * factor * vload4(0, scale + scale_offset + i);
    if (has_bias) v += vload4(0, bias + bias_offset + i);
    STORE_VEC4(v, y + y_offset + first + i, 0);
  }
}
