/* A program of the first header whose structs say their size, in front of today's library. */
#include <stdio.h>
#include <string.h>

#include "fettle/fettle.h"

#define EXPECT(condition)                                                                      \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, fettle_last_error()); \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)

/* Bytes behind a struct, which the library must leave alone. */
#define GUARDED(type, name)  \
  struct {                   \
    type value;              \
    unsigned char guard[64]; \
  } name;                    \
  memset(&name, 0xa5, sizeof(name))

static int guard_is_whole(const unsigned char* guard) {
  for (int i = 0; i < 64; ++i)
    if (guard[i] != 0xa5) return 0;
  return 1;
}

static int describes(const fettle_model* model) {
  GUARDED(fettle_value_info, info);
  info.value.struct_size = sizeof(info.value);
  EXPECT(fettle_model_input(model, 0, &info.value) == FETTLE_OK);
  EXPECT(info.value.struct_size == sizeof(info.value));
  EXPECT(strcmp(info.value.name, "picture") == 0);
  EXPECT(info.value.dtype == FETTLE_F32 && info.value.rank == 4);
  EXPECT(info.value.dims[0] == 1 && info.value.dims[1] == 3 && info.value.dims[2] == -1);
  EXPECT(guard_is_whole(info.guard));
  return 0;
}

static int tells_of_the_run(const fettle_session* session) {
  GUARDED(fettle_step, step);
  step.value.struct_size = sizeof(step.value);
  EXPECT(fettle_session_step_count(session) > 0);
  EXPECT(fettle_session_step(session, 0, &step.value) == FETTLE_OK);
  EXPECT(step.value.kernel != NULL && step.value.bytes > 0 && guard_is_whole(step.guard));
  GUARDED(fettle_memory, memory);
  memory.value.struct_size = sizeof(memory.value);
  EXPECT(fettle_session_memory(session, &memory.value) == FETTLE_OK);
  EXPECT(memory.value.weights > 0 && guard_is_whole(memory.guard));
  return 0;
}

static int runs(const fettle_model* model) {
  /* What lies behind the options is no part of them. */
  GUARDED(fettle_session_options, options);
  const fettle_session_options init = FETTLE_SESSION_OPTIONS_INIT;
  options.value = init;
  options.value.threads = 2;
  fettle_session* session = NULL;
  EXPECT(fettle_session_create(model, &options.value, &session) == FETTLE_OK);
  const int64_t dims[4] = {1, 3, 5, 6};
  fettle_tensor *input = NULL, *output = NULL;
  EXPECT(fettle_tensor_create(FETTLE_F32, 4, dims, &input) == FETTLE_OK);
  for (int i = 0; i < 90; ++i) ((float*)fettle_tensor_data(input))[i] = 0.5f;
  EXPECT(fettle_session_set_input(session, "picture", input) == FETTLE_OK);
  EXPECT(fettle_session_run(session) == FETTLE_OK);
  EXPECT(fettle_session_output(session, "enhanced", &output) == FETTLE_OK);
  const float first = ((const float*)fettle_tensor_data(output))[0];
  EXPECT(first > 0.4999f && first < 0.5001f);
  if (tells_of_the_run(session) != 0) return 1;
  fettle_tune_options tune = FETTLE_TUNE_OPTIONS_INIT;
  tune.level = "none";
  GUARDED(fettle_tune_report, report);
  report.value.struct_size = sizeof(report.value);
  EXPECT(fettle_session_tune(session, &tune, &report.value) == FETTLE_OK);
  EXPECT(report.value.measured == 0 && guard_is_whole(report.guard));
  fettle_tensor_free(output);
  fettle_tensor_free(input);
  fettle_session_free(session);
  return 0;
}

static int time_of(const int64_t* values, size_t count, double* ms, void* user) {
  (void)count, (void)user;
  *ms = (double)values[0];
  return 0;
}

static int sees_the_state(const fettle_tuner_state* state, void* user) {
  if (state->struct_size < sizeof(*state) || state->evaluations < 1) return 1;
  ++*(int*)user;
  return 0;
}

static int tunes(void) {
  const int64_t values[] = {3, 2, 5};
  fettle_tuner* tuner = NULL;
  EXPECT(fettle_tuner_create("frozen", &tuner) == FETTLE_OK);
  EXPECT(fettle_tuner_add_parameter(tuner, "X", values, 3) == FETTLE_OK);
  fettle_tuner_options options = FETTLE_TUNER_OPTIONS_INIT;
  options.strategy = "full";
  EXPECT(fettle_tuner_set_options(tuner, &options) == FETTLE_OK);
  int seen = 0;
  fettle_tuner_callbacks callbacks = FETTLE_TUNER_CALLBACKS_INIT;
  callbacks.run = time_of;
  callbacks.progress = sees_the_state;
  callbacks.user = &seen;
  EXPECT(fettle_tuner_run(tuner, &callbacks) == FETTLE_OK);
  EXPECT(seen == 3);
  GUARDED(fettle_tuner_state, state);
  state.value.struct_size = sizeof(state.value);
  EXPECT(fettle_tuner_get_state(tuner, &state.value) == FETTLE_OK);
  EXPECT(state.value.evaluations == 3 && state.value.best_ms == 2 && guard_is_whole(state.guard));
  fettle_tuner_free(tuner);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fettle_model* model = NULL;
  EXPECT(fettle_model_load(argv[1], &model) == FETTLE_OK);
  const int failed = describes(model) + runs(model) + tunes();
  fettle_model_free(model);
  return failed;
}
