// Matrices of f32 [rows, columns] as [columns, pitch], rounded to TF32 and zero behind `rows`: what
// instructions of warpgroups take of an operand that lies by k. A work-group makes EDGE x EDGE: lws = {EDGE,
// ITEMS_Y}, gws = {pitch rounded up, columns rounded up / EDGE * ITEMS_Y, matrices}.
#include "kernels/opencl/gemm/mma.clh"
#define EDGE 32
#define ITEMS_Y 8

__kernel __attribute__((reqd_work_group_size(EDGE, ITEMS_Y, 1))) void gemm_pad_columns(
    __global const uint* restrict from, const int from_offset, const int rows, const int columns,
    const int pitch, __global uint* restrict to, const int to_offset) {
  __local uint tile[EDGE][EDGE + 1];
  const int x = get_local_id(0), y = get_local_id(1), z = get_global_id(2);
  const int first_row = (get_group_id(0) + get_global_offset(0) / EDGE) * EDGE;
  const int first_column = (get_group_id(1) + get_global_offset(1) / ITEMS_Y) * EDGE;
  from += from_offset + (long)z * rows * columns;
  to += to_offset + (long)z * columns * pitch;
  for (int i = y; i < EDGE; i += ITEMS_Y) {
    const int row = first_row + i, column = first_column + x;
    const bool is_inside = row < rows && column < columns;
    tile[i][x] = is_inside ? RoundedToTf32(from[(long)row * columns + column]) : 0u;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = y; i < EDGE; i += ITEMS_Y) {
    const int row = first_row + x, column = first_column + i;
    if (row < pitch && column < columns) to[(long)column * pitch + row] = tile[x][i];
  }
}
