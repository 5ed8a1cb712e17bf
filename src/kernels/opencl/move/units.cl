// Moves runs of elements from where a table says: a work-item writes one word, gws = {words of y}.
//   WORD   the type of a word: `run_words` of them are a run, which begins at a multiple of it
//   table  for each run of y the run of x that it is, or -1: zero
#ifndef WORD
#define WORD uint4
#endif

__kernel void units(__global const WORD* restrict x, const int x_offset, __global WORD* restrict y,
                    const int y_offset, __global const int* restrict table, const int words,
                    const int run_words) {
  const int word = get_global_id(0);
  if (word >= words) return;
  const int run = table[word / run_words];
  y[y_offset + word] =
      run < 0 ? (WORD)(0) : x[x_offset + run * run_words + word % run_words];
}
