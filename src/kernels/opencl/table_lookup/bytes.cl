// Bytes through a table of 256: y[i] = table[x[i]].
//   PIXELS 0  buffers of dims.x bytes; a work-item looks up four neighbours: gws = {ceil(x / 4)}
//   PIXELS 1  NCHW4c buffers of dims = (channel blocks, height, width, channels), zero in lanes
//             beyond the channels; a work-item looks up a pixel: gws = {height * width, blocks,
//             batch}
#ifndef PIXELS
#define PIXELS 0
#endif

__kernel void bytes(__global const uchar* restrict x, const int x_offset,
                    __global const uchar* restrict table, const int table_offset,
                    __global uchar* restrict y, const int y_offset, const int4 dims) {
#if PIXELS
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int plane = dims.y * dims.z;
  if (place >= plane || block >= dims.x) return;
  const int begin = (((int)get_global_id(2) * dims.x + block) * plane + place) * 4;
  const int end = begin + min(4, dims.w - block * 4);
  for (int i = end; i < begin + 4; ++i) y[y_offset + i] = 0;
#else
  const int begin = get_global_id(0) * 4;
  const int end = min(begin + 4, dims.x);
#endif
  for (int i = begin; i < end; ++i) y[y_offset + i] = table[table_offset + x[x_offset + i]];
}
