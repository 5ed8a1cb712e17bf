/* A matrix product prepared once and called many times: eight products with weights in common, on
 * whatever device the first argument names ("cpu", "opencl" ...), in fp32 and in bytes. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fettle/fettle.h"

enum { M = 20, N = 30, K = 40, BATCH = 8 };

static int Check(fettle_status status) {
  if (status != FETTLE_OK)
    fprintf(stderr, "%s: %s\n", fettle_status_name(status), fettle_last_error());
  return status != FETTLE_OK;
}

/* C = 0.5 * A * transpose(B) + C: B, the weights, is packed when the product is made. */
static int Floats(const char* device) {
  static float a[BATCH * M * K], b[N * K], c[BATCH * M * N];
  for (int i = 0; i < BATCH * M * K; ++i) a[i] = (float)(i % 7) - 3;
  for (int i = 0; i < N * K; ++i) b[i] = (float)(i % 5) - 2;
  for (int i = 0; i < BATCH * M * N; ++i) c[i] = 1;

  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  options.device = device;
  options.transpose_b = 1;
  options.b = b;
  options.batch = BATCH;
  options.stride_a = M * K;
  options.stride_c = M * N;
  fettle_gemm* gemm = NULL;
  if (Check(fettle_gemm_create(M, N, K, 0.5, 1, &options, &gemm))) return 1;
  if (Check(fettle_gemm_run(gemm, a, NULL, c))) return 1;

  double worst = 0;
  for (int i = 0; i < BATCH * M; ++i)
    for (int j = 0; j < N; ++j) {
      double want = 1;
      for (int p = 0; p < K; ++p) want += 0.5 * a[i * K + p] * b[j * K + p];
      worst = fmax(worst, fabs(c[i * N + j] - want));
    }
  printf("%d x %dx%dx%d by %s: largest difference %g\n", BATCH, M, N, K, fettle_gemm_kernels(gemm),
         worst);
  fettle_gemm_free(gemm);
  return worst < 1e-3 ? 0 : 1;
}

/* Bytes, summed up in 32 bits: exact. */
static int Bytes(const char* device) {
  static uint8_t a[M * K];
  static int8_t b[K * N];
  static int32_t c[M * N];
  for (int i = 0; i < M * K; ++i) a[i] = (uint8_t)(i * 37);
  for (int i = 0; i < K * N; ++i) b[i] = (int8_t)(i * 11);

  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  options.device = device;
  options.dtype_a = FETTLE_U8;
  options.dtype_b = FETTLE_I8;
  fettle_gemm* gemm = NULL;
  if (Check(fettle_gemm_create(M, N, K, 1, 0, &options, &gemm))) return 1;
  if (Check(fettle_gemm_run(gemm, a, b, c))) return 1;
  int wrong = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      int32_t want = 0;
      for (int p = 0; p < K; ++p) want += a[i * K + p] * b[p * N + j];
      wrong += c[i * N + j] != want;
    }
  printf("bytes by %s: %d wrong\n", fettle_gemm_kernels(gemm), wrong);
  fettle_gemm_free(gemm);
  return wrong > 0;
}

int main(int argc, char** argv) {
  const char* device = argc > 1 ? argv[1] : "cpu";
  return Floats(device) || Bytes(device);
}
