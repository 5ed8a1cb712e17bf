// Element-wise operators among operators that move elements: a work-item makes one element of a
// row-major buffer, gws = {elements of y}.
// In front of this text: VIEW_PARAMS, the operands; READ(k, i), element i of operand k as float4;
// VIEW_BODY, statements that leave `result`, from i0 and from the tables n and f.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/functions.clh"

// a / divisor, of a that is not negative, by the divisor's factor and shift.
#define QUOTIENT(a, factor, shift) ((int)(mul_hi((uint)(a), (uint)(factor)) >> (shift)))

#ifndef VIEW_BODY
#define VIEW_PARAMS
#define VIEW_BODY const float4 result = (float4)((float)i0);
#endif

__kernel void views(__global storage_t* restrict y, const int y_offset, const int count,
                    __global const int* restrict n, __global const float* restrict f VIEW_PARAMS) {
  const int i0 = get_global_id(0);
  if (i0 >= count) return;
  VIEW_BODY
  STORE((result).x, y, y_offset + i0);
}
