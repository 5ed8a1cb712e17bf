// Columns of blocks summed up into images: x [planes, taps, positions], y [planes, height, width],
// row-major. A work-item makes one pixel: gws = {height * width, planes}.
//   image      (height, width) of y; grid: positions along them; block: taps along them
//   strides, dilations, pads (of the beginning) along them
#include "kernels/opencl/access.clh"

__kernel void col2im(__global const storage_t* restrict x, const int x_offset,
                     __global storage_t* restrict y, const int y_offset, const int2 image,
                     const int2 grid, const int2 block, const int2 strides, const int2 dilations,
                     const int2 pads) {
  const int pixel = get_global_id(0);
  const int plane = get_global_id(1);
  if (pixel >= image.x * image.y) return;
  const int positions = grid.x * grid.y;
  const int row = pixel / image.y + pads.x, column = pixel % image.y + pads.y;
  float sum = 0.0f;
  for (int r = 0; r < block.x; ++r) {
    const int down = row - r * dilations.x;
    if (down < 0 || down % strides.x != 0 || down / strides.x >= grid.x) continue;
    for (int c = 0; c < block.y; ++c) {
      const int right = column - c * dilations.y;
      if (right < 0 || right % strides.y != 0 || right / strides.y >= grid.y) continue;
      const int line = plane * block.x * block.y + r * block.y + c;
      sum += LOAD(x, x_offset + line * positions + down / strides.x * grid.y + right / strides.y);
    }
  }
  STORE(sum, y, y_offset + plane * image.x * image.y + pixel);
}
