// A run of element-wise operators in one pass: the expression in front of this text makes four
// values of the output from the operands that it names.
//   pixels     y in NCHW4c or NC4HW4 (access.clh); gws = {channel blocks * height * width, batch}
//   row-major  y is a buffer [rows, columns] of OUT_TYPE; gws = {rows * ceil(columns / 4)}
//   OUT_TYPE, OUT_CONVERT  type of a row-major output that is not a float, and the conversion of
//                          float4 to it
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

#if EXPRESSION_ROWS
#ifdef OUT_TYPE
#define ELEMENT OUT_TYPE
#define PUT(v, p, i) ((p)[i] = OUT_CONVERT(v).x)
#define PUT4(v, p) vstore4(OUT_CONVERT(v), 0, p)
#else
#define ELEMENT storage_t
#define PUT(v, p, i) STORE((v).x, p, i)
#define PUT4(v, p) STORE_NEAR(v, p)
#endif

__kernel void chain(__global ELEMENT* restrict y, const int y_offset, const int rows,
                    const int columns EXPRESSION_PARAMS) {
  const int quads = (columns + 3) / 4;
  const int row = get_global_id(0) / quads;
  const int column = get_global_id(0) % quads * 4;
  if (row >= rows) return;
  const REAL4 v = FINISH_ROWS((REAL4)((REAL)0), row, column);
  __global ELEMENT* to = y + y_offset + row * columns + column;
  const int left = columns - column;
  if (left >= 4) {
    PUT4(v, to);
    return;
  }
  PUT(v.xxxx, to, 0);
  if (left > 1) PUT(v.yyyy, to, 1);
  if (left > 2) PUT(v.zzzz, to, 2);
}
#else
__kernel void chain(TENSOR_OUT(y), const int4 dims EXPRESSION_PARAMS) {
  const int plane = dims.y * dims.z;
  const int block = get_global_id(0) / plane;
  const int place = get_global_id(0) % plane;
  const int n = get_global_id(1);
  if (block >= dims.x || n >= dims.w) return;
  const int row = place / dims.z, column = place % dims.z;
  const REAL4 v = FINISH((REAL4)((REAL)0), dims, n, block, row, column);
  STORE4(v, y, dims, n, block, row, column);
}
#endif
