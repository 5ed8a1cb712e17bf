/* Microseconds of one inference through the C interface, inputs wrapped and outputs freed each
 * time, as bindings do it: the best mean of several batches. call MODEL COUNT BATCHES; the model
 * adds x and y, of 8 fp32 each. */
#include <fettle/fettle.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void check(fettle_status status) {
  if (status == FETTLE_OK) return;
  fprintf(stderr, "%s\n", fettle_last_error());
  exit(1);
}

static void call(fettle_session* session, float* x, float* y) {
  const int64_t dims[] = {8};
  const char* const inputs[] = {"x", "y"};
  const char* const outputs[] = {"z"};
  fettle_tensor *given[2], *result;
  check(fettle_tensor_wrap(FETTLE_F32, 1, dims, x, 32, &given[0]));
  check(fettle_tensor_wrap(FETTLE_F32, 1, dims, y, 32, &given[1]));
  check(fettle_session_infer(session, inputs, (const fettle_tensor* const*)given, 2, outputs,
                             &result, 1));
  check(fettle_tensor_free(given[0]));
  check(fettle_tensor_free(given[1]));
  check(fettle_tensor_free(result));
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  fettle_model* model = NULL;
  fettle_session* session = NULL;
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  options.threads = 1;
  check(fettle_model_load(argv[1], &model));
  check(fettle_session_create(model, &options, &session));
  static float x[8], y[8];
  const int count = atoi(argv[2]), batches = atoi(argv[3]);
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    const double start = now_us();
    for (int i = 0; i < count; ++i) call(session, x, y);
    const double mean = (now_us() - start) / count;
    if (mean < best) best = mean;
  }
  printf("%.3f\n", best);
  fettle_session_free(session);
  fettle_model_free(model);
  return 0;
}
