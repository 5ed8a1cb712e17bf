// Maximum of bits over windows of a plane: whether one of them is set. x and y are words of 64
// channels [batch][height][width][words]; a work-item makes a word: gws = {width * words, height, batch}.
// Taps outside of x are skipped.

// dims = (words, height, width, batch); window = (kernel rows, kernel columns, row stride, column
// stride); borders = (rows above, columns to the left, row dilation, column dilation).
__kernel void binary_max_pool(__global const ulong* restrict x, const int x_offset,
                              __global ulong* restrict y, const int y_offset, const int4 x_dims,
                              const int4 y_dims, const int4 window, const int4 borders) {
  const int at = get_global_id(0);
  const int row = get_global_id(1);
  const int n = get_global_id(2);
  if (at >= y_dims.z * y_dims.x || row >= y_dims.y) return;
  const int word = at % y_dims.x, left = at / y_dims.x * window.w - borders.y;
  ulong bits = 0;
  for (int i = 0; i < window.x; ++i) {
    const int in_row = row * window.z - borders.x + i * borders.z;
    if (in_row < 0 || in_row >= x_dims.y) continue;
    for (int j = 0; j < window.y; ++j) {
      const int column = left + j * borders.w;
      if (column >= 0 && column < x_dims.z)
        bits |= x[x_offset + ((n * x_dims.y + in_row) * x_dims.z + column) * x_dims.x + word];
    }
  }
  y[y_offset + (n * y_dims.y + row) * y_dims.z * y_dims.x + at] = bits;
}
