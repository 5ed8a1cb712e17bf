// Elements on one side of a diagonal as they are, zeros on the other (Trilu): matrices of rows x
// columns behind each other, row-major buffers. One work-item per element.
//   ELEMENT  an unsigned type as wide as the elements
//   upper    1: what is kept lies on the diagonal and above it, else on it and below
#ifndef ELEMENT
#define ELEMENT uint
#endif

__kernel void triangle(__global const ELEMENT* restrict x, const int x_offset,
                       __global ELEMENT* restrict y, const int y_offset, const int count,
                       const int rows, const int columns, const int diagonal, const int upper) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int column = i % columns, row = i / columns % rows;
  const int at = column - row;
  y[y_offset + i] = (upper ? at >= diagonal : at <= diagonal) ? x[x_offset + i] : 0;
}
