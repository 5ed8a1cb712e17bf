/* Gives a session more pictures than it can take at once, from the memory of the program, while it
 * still computes the first: async MODEL [RUNS]. MODEL is the demonstration model (fettle-demo makes
 * it). The one in the middle is cancelled. */
#include <fettle/fettle.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSize = 16 };

typedef struct {
  int done, cancelled, failed;
} Counts;

/* Called on the session's own thread, for one run after the other. */
static void count(void* user, fettle_status status, fettle_tensor** outputs, size_t output_count) {
  Counts* counts = user;
  if (status == FETTLE_OK)
    ++counts->done;
  else if (status == FETTLE_CANCELLED)
    ++counts->cancelled;
  else
    ++counts->failed;
  if (status != FETTLE_OK && status != FETTLE_CANCELLED)
    fprintf(stderr, "%s\n", fettle_last_error());
  for (size_t i = 0; i < output_count; ++i) fettle_tensor_free(outputs[i]);
}

static void check(fettle_status status) {
  if (status == FETTLE_OK) return;
  fprintf(stderr, "%s\n", fettle_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: async MODEL [RUNS]\n");
    return 2;
  }
  const int runs = argc > 2 ? atoi(argv[2]) : 40;
  fettle_model* model = NULL;
  fettle_session* session = NULL;
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  options.max_runs = 8; /* of the 40; the ninth waits for room */
  check(fettle_model_load(argv[1], &model));
  check(fettle_session_create(model, &options, &session));
  Counts counts = {0, 0, 0};
  const int64_t dims[] = {1, 3, kSize, kSize};
  const char *const inputs[] = {"picture"}, *const outputs[] = {"enhanced"};
  for (int i = 0; i < runs; ++i) {
    fettle_tensor* picture = NULL;
    check(fettle_tensor_create(FETTLE_F32, 4, dims, &picture));
    float* pixels = fettle_tensor_data(picture);
    for (int at = 0; at < 3 * kSize * kSize; ++at) pixels[at] = (float)(at + i) * 1e-3f;
    const fettle_tensor* const tensors[] = {picture};
    fettle_run* run = NULL;
    check(fettle_session_run_async(session, inputs, tensors, 1, outputs, 1, count, &counts, &run));
    fettle_tensor_free(picture); /* the run keeps what it reads */
    if (i == runs / 2) fettle_run_cancel(run);
    if (i + 1 == runs) fettle_run_wait(run); /* the last, so all of them */
    fettle_run_free(run);
  }
  fettle_session_free(session);
  fettle_model_free(model);
  printf("%d done, %d cancelled, %d failed\n", counts.done, counts.cancelled, counts.failed);
  return counts.failed == 0 && counts.done + counts.cancelled == runs ? 0 : 1;
}
