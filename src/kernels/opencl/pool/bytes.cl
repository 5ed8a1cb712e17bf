// Maximum of bytes over windows of a plane. x and y are NCHW4c buffers of TYPE; a work-item makes
// one pixel of y: gws = {height * width, channel blocks, batch}. Every window holds a pixel of x,
// whose lanes beyond the channels are zero, as those of y are then.
//   kernel_stride     kernel height and width, stride down and across
//   pad               padding above and left of the input
//   TYPE, VECTOR      uchar or char, and four of them
#ifndef TYPE
#define TYPE uchar
#endif
#ifndef VECTOR
#define VECTOR uchar4
#endif

__kernel void bytes(__global const TYPE* restrict x, const int x_offset,
                    __global TYPE* restrict y, const int y_offset, const int4 x_dims,
                    const int4 y_dims, const int4 kernel_stride, const int2 pad) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (place >= y_dims.y * y_dims.z || block >= y_dims.x) return;
  const int top = place / y_dims.z * kernel_stride.z - pad.x;
  const int left = place % y_dims.z * kernel_stride.w - pad.y;
  const int end_y = min(top + kernel_stride.x, x_dims.y);
  const int end_x = min(left + kernel_stride.y, x_dims.z);
  const int plane = (n * x_dims.x + block) * x_dims.y;
  VECTOR v = vload4(x_offset + (plane + max(top, 0)) * x_dims.z + max(left, 0), x);
  for (int at_y = max(top, 0); at_y < end_y; ++at_y) {
    for (int at_x = max(left, 0); at_x < end_x; ++at_x)
      v = max(v, vload4(x_offset + (plane + at_y) * x_dims.z + at_x, x));
  }
  vstore4(v, y_offset + (n * y_dims.x + block) * y_dims.y * y_dims.z + place, y);
}
