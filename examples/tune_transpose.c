/* Tunes code of one's own: the block sizes of a matrix transpose, first as a search of its own,
 * then one step at a time inside a program that has transposes to do anyway. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fettle/fettle.h"

enum { N = 384, ROUNDS = 3 };

static float from[N * N], to[N * N];

static void transpose(int rows, int columns) {
  for (int i0 = 0; i0 < N; i0 += rows)
    for (int j0 = 0; j0 < N; j0 += columns)
      for (int i = i0; i < i0 + rows; ++i)
        for (int j = j0; j < j0 + columns; ++j) to[j * N + i] = from[i * N + j];
}

static double now_ms(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

/* The best of a few rounds. */
static int run(const int64_t* values, size_t count, double* ms, void* user) {
  (void)count;
  (void)user;
  double best = 1e9;
  for (int round = 0; round < ROUNDS; ++round) {
    const double start = now_ms();
    transpose((int)values[0], (int)values[1]);
    const double taken = now_ms() - start;
    if (taken < best) best = taken;
  }
  *ms = best > 0 ? best : 1e-6; /* a coarse clock */
  return 0;
}

static int check(const int64_t* values, size_t count, void* user) {
  (void)values;
  (void)count;
  (void)user;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      if (to[j * N + i] != from[i * N + j]) return 1;
  return 0;
}

static int fail(void) {
  fprintf(stderr, "%s\n", fettle_last_error());
  return 1;
}

static fettle_tuner* make_tuner(void) {
  static const int64_t blocks[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 384};
  const size_t count = sizeof(blocks) / sizeof(blocks[0]);
  const int64_t known[] = {32, 32};
  const fettle_tuner_options options = {
      .struct_size = sizeof(options), .seed = 1, .max_evaluations = 24, .max_seconds = 2};
  fettle_tuner* tuner = NULL;
  if (fettle_tuner_create("transpose", &tuner) != FETTLE_OK ||
      fettle_tuner_add_parameter(tuner, "ROWS", blocks, count) != FETTLE_OK ||
      fettle_tuner_add_parameter(tuner, "COLUMNS", blocks, count) != FETTLE_OK ||
      fettle_tuner_add_constraint(tuner, "ROWS * COLUMNS <= 8192") != FETTLE_OK ||
      fettle_tuner_add_known(tuner, known, 2) != FETTLE_OK ||
      fettle_tuner_set_options(tuner, &options) != FETTLE_OK) {
    fettle_tuner_free(tuner);
    return NULL;
  }
  return tuner;
}

int main(void) {
  for (int i = 0; i < N * N; ++i) from[i] = (float)i;

  fettle_tuner* tuner = make_tuner();
  if (tuner == NULL) return fail();
  const fettle_tuner_callbacks callbacks = {
      .struct_size = sizeof(callbacks), .run = run, .check = check};
  if (fettle_tuner_run(tuner, &callbacks) != FETTLE_OK) return fail();
  int64_t best[2];
  double ms;
  if (fettle_tuner_best(tuner, best, 2, &ms) != FETTLE_OK) return fail();
  fettle_tuner_state state = FETTLE_TUNER_STATE_INIT;
  fettle_tuner_get_state(tuner, &state);
  printf("%d evaluations: blocks of %d x %d, %.4f ms\n", (int)state.evaluations, (int)best[0],
         (int)best[1], ms);
  fettle_tuner_free(tuner);

  tuner = make_tuner();
  if (tuner == NULL) return fail();
  int steps = 0;
  int64_t values[2];
  while (steps < 10 && fettle_tuner_ask(tuner, values, 2) == FETTLE_OK) {
    run(values, 2, &ms, NULL); /* work that has to be done in any case */
    if (fettle_tuner_tell(tuner, ms) != FETTLE_OK) return fail();
    ++steps;
  }
  if (fettle_tuner_best(tuner, best, 2, &ms) != FETTLE_OK) return fail();
  printf("%d steps on the way: blocks of %d x %d, %.4f ms\n", steps, (int)best[0], (int)best[1],
         ms);
  fettle_tuner_free(tuner);
  return 0;
}
