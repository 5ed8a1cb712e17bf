/* program MODEL PACKAGE OUTPUT: runs a package by the runtime library alone, compares with what the
 * whole library gave, and asks for what the runtime library lacks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/capi/runtime/infer.h"

/* One line that holds `text`. */
static int says(const char* text) {
  const char* message = fettle_last_error();
  return strstr(message, text) != NULL && strchr(message, '\n') == NULL;
}

static int runs_the_package(const char* package, const char* expected, int threads) {
  fettle_model* model = NULL;
  fettle_session* session = NULL;
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  options.threads = threads;
  EXPECT(fettle_model_load(package, &model) == FETTLE_OK);
  EXPECT(fettle_session_create(model, &options, &session) == FETTLE_OK);
  if (infer(model, session) != 0) return 1;
  fettle_value_info info;
  info.struct_size = sizeof(info);
  EXPECT(fettle_model_output(model, 0, &info) == FETTLE_OK);
  fettle_tensor* output = NULL;
  EXPECT(fettle_session_output(session, info.name, &output) == FETTLE_OK);
  static float want[4 * 3 * kExtent * kExtent];
  EXPECT(fettle_tensor_size(output) == sizeof(want));
  FILE* file = fopen(expected, "rb");
  EXPECT(file != NULL);
  EXPECT(fread(want, 1, sizeof(want), file) == sizeof(want));
  fclose(file);
  const float* got = fettle_tensor_data(output);
  for (size_t i = 0; i < sizeof(want) / sizeof(*want); ++i)
    EXPECT(fabsf(got[i] - want[i]) <= 1e-4f);
  EXPECT(fettle_session_tune(session, NULL, NULL) == FETTLE_UNSUPPORTED);
  EXPECT(says("the runtime library has no tuner"));
  fettle_tensor_free(output);
  fettle_session_free(session);
  fettle_model_free(model);
  return 0;
}

static int refuses_models(const char* path) {
  fettle_model* model = NULL;
  EXPECT(fettle_model_load(path, &model) == FETTLE_UNSUPPORTED);
  EXPECT(says(path) && says("reads only .fettle packages"));
  EXPECT(fettle_model_load_bytes("onnx", 4, "four", &model) == FETTLE_UNSUPPORTED);
  EXPECT(says("four: not a package"));
  EXPECT(fettle_model_load("/no/such/model", &model) == FETTLE_NOT_FOUND);
  return 0;
}

static int multiplies(void) {
  const float a[4] = {1, 2, 3, 4};
  float c[4];
  EXPECT(fettle_sgemm(0, 0, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2, 2) == FETTLE_OK);
  EXPECT(c[0] == 7 && c[3] == 22);
  fettle_gemm* gemm = NULL;
  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  EXPECT(fettle_gemm_create(2, 2, 2, 1, 0, &options, &gemm) == FETTLE_OK);
  EXPECT(fettle_gemm_run(gemm, a, a, c) == FETTLE_OK);
  EXPECT(c[1] == 10 && c[2] == 15);
  fettle_gemm_free(gemm);
  options.tune = "fast";
  EXPECT(fettle_gemm_create(2, 2, 2, 1, 0, &options, &gemm) == FETTLE_UNSUPPORTED);
  EXPECT(says("the runtime library has no tuner"));
  fettle_tuner* tuner = NULL;
  EXPECT(fettle_tuner_create("mine", &tuner) == FETTLE_UNSUPPORTED);
  EXPECT(says("fettle_tuner_create: the runtime library has no tuner"));
  fettle_generate* generate = NULL;
  EXPECT(fettle_generate_create("model.gguf", NULL, &generate) == FETTLE_UNSUPPORTED);
  EXPECT(says("the runtime library has no language models"));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  if (runs_the_package(argv[2], argv[3], 1) != 0) return 1;
  if (runs_the_package(argv[2], argv[3], 2) != 0) return 1;
  return refuses_models(argv[1]) != 0 || multiplies() != 0;
}
