// Columns of blocks summed up into images: x [planes, taps, positions], y [planes, depth, height,
// width], row-major. A work-item makes one pixel: gws = {depth * height * width, planes}.
//   image      (depth, height, width, unused) of y; grid: positions along them; block: taps
//   strides, dilations, pads (of the beginning) along them
#include "kernels/opencl/access.clh"

// The position along an axis that meets a pixel through a tap; -1: none.
int position_of(const int pixel, const int tap, const int stride, const int dilation,
                const int positions) {
  const int at = pixel - tap * dilation;
  return at < 0 || at % stride != 0 || at / stride >= positions ? -1 : at / stride;
}

__kernel void col2im(__global const storage_t* restrict x, const int x_offset,
                     __global storage_t* restrict y, const int y_offset, const int4 image,
                     const int4 grid, const int4 block, const int4 strides, const int4 dilations,
                     const int4 pads) {
  const int pixel = get_global_id(0);
  const int plane = get_global_id(1);
  const int pixels = image.x * image.y * image.z;
  if (pixel >= pixels) return;
  const int positions = grid.x * grid.y * grid.z;
  const int taps = block.x * block.y * block.z;
  const int slice = pixel / (image.y * image.z) + pads.x;
  const int row = pixel / image.z % image.y + pads.y, column = pixel % image.z + pads.z;
  float sum = 0.0f;
  for (int d = 0; d < block.x; ++d) {
    const int deep = position_of(slice, d, strides.x, dilations.x, grid.x);
    if (deep < 0) continue;
    for (int r = 0; r < block.y; ++r) {
      const int down = position_of(row, r, strides.y, dilations.y, grid.y);
      if (down < 0) continue;
      for (int c = 0; c < block.z; ++c) {
        const int right = position_of(column, c, strides.z, dilations.z, grid.z);
        if (right < 0) continue;
        const int line = plane * taps + (d * block.y + r) * block.z + c;
        sum += LOAD(x, x_offset + line * positions + (deep * grid.y + down) * grid.z + right);
      }
    }
  }
  STORE(sum, y, y_offset + plane * pixels + pixel);
}
