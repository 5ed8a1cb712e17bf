/* The matrix product alone: C = 2 * A * transpose(B) + C, on rows that are longer than the matrices
 * are wide. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fettle/fettle.h"

enum { M = 50, N = 70, K = 33, LDA = 40, LDB = 36, LDC = 80 };

int main(void) {
  static float a[M * LDA], b[N * LDB], c[M * LDC], want[M * LDC];
  for (int i = 0; i < M * LDA; ++i) a[i] = (float)(i % 7) - 3;
  for (int i = 0; i < N * LDB; ++i) b[i] = (float)(i % 5) - 2;
  for (int i = 0; i < M * LDC; ++i) c[i] = want[i] = 1;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      for (int p = 0; p < K; ++p) want[i * LDC + j] += 2 * a[i * LDA + p] * b[j * LDB + p];

  const fettle_status status = fettle_sgemm(0, 1, M, N, K, 2, a, LDA, b, LDB, 1, c, LDC, 0);
  if (status != FETTLE_OK) {
    fprintf(stderr, "%s: %s\n", fettle_status_name(status), fettle_last_error());
    return 1;
  }
  float worst = 0;
  for (int i = 0; i < M * LDC; ++i) worst = fmaxf(worst, fabsf(c[i] - want[i]));
  printf("%dx%dx%d: largest difference %g\n", M, N, K, worst);
  return worst < 1e-3f ? 0 : 1;
}
