// Joins up to SOURCES tensors in one launch: y [outer, words], x of each [outer, its words], which
// begins at a word of y. A work-item moves one word: gws = {words of the longest, sources, outer}.
//   WORD      the type of a word
//   SOURCES   how many; PARTS(f) in front of this text is f(0) f(1) ... of them
//   table     (first word in y, words) of each
#ifndef WORD
#define WORD uint4
#endif
#ifndef PARTS
#define SOURCES 1
#define PARTS(f) f(0)
#endif

#define PART_PARAM(i) , __global const WORD* restrict x##i, const int x##i##_offset
#define PART_CASE(i) \
  case i: from = x##i + x##i##_offset; break;

__kernel void concat(__global WORD* restrict y, const int y_offset, __global const int* restrict table,
                     const int words PARTS(PART_PARAM)) {
  const int i = get_global_id(0);
  const int part = get_global_id(1);
  const int o = get_global_id(2);
  if (part >= SOURCES) return;
  const int first = table[2 * part], count = table[2 * part + 1];
  if (i >= count) return;
  __global const WORD* from = x0;
  switch (part) { PARTS(PART_CASE) }
  y[y_offset + o * words + first + i] = from[o * count + i];
}
