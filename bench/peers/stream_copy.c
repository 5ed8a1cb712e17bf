/* STREAM's copy of two arrays, each four times a last cache level of 32 MiB, beside `fettle peak
 * --only "DRAM copy"`: gcc -O3 -march=native -fno-tree-loop-distribute-patterns
 * bench/peers/stream_copy.c -o copy && ./copy The option keeps the loop, as a call of memcpy would
 * write past the caches. Pages are of 4 KiB, as those of STREAM's arrays; with -DHUGE_PAGES huge
 * ones, as tensors of Fettle have. Prints the median and the best of 21 copies, of which STREAM
 * prints the best. Bytes read and written count. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { kElements = 16 << 20, kRepeats = 21 };

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double* Array(double value) {
  double* array = aligned_alloc(2 << 20, kElements * sizeof(double));
  if (array == NULL) exit(1);
#ifdef HUGE_PAGES
  madvise(array, kElements * sizeof(double), MADV_HUGEPAGE);
#else
  madvise(array, kElements * sizeof(double), MADV_NOHUGEPAGE);
#endif
  for (int i = 0; i < kElements; ++i) array[i] = value;
  return array;
}

static int Compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(void) {
  double* restrict a = Array(1), * restrict c = Array(0), rates[kRepeats];
  for (int k = 0; k < kRepeats; ++k) {
    const double begin = Seconds();
    for (int i = 0; i < kElements; ++i) c[i] = a[i];
    __asm__ volatile("" : : "r"(c) : "memory");
    rates[k] = 2.0 * sizeof(double) * kElements / (Seconds() - begin) * 1e-9;
  }
  qsort(rates, kRepeats, sizeof(double), Compare);
  printf("median %.1f GB/s, best %.1f\n", rates[kRepeats / 2], rates[kRepeats - 1]);
  return c[kElements / 2] != 1;
}
