/* Runs a classifier on one input and prints the five best classes: classify MODEL.onnx [INPUT.raw]
 * INPUT.raw holds the floats of the first input, row-major; without it the input is a ramp. */
#include <stdio.h>
#include <stdlib.h>

#include "fettle/fettle.h"

static void check(fettle_status status) {
  if (status == FETTLE_OK) return;
  fprintf(stderr, "%s: %s\n", fettle_status_name(status), fettle_last_error());
  exit(1);
}

static void fill(float* values, size_t count, const char* path) {
  if (path == NULL) {
    for (size_t i = 0; i < count; ++i) values[i] = (float)i / (float)count;
    return;
  }
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(values, sizeof(float), count, file) != count) {
    fprintf(stderr, "%s: expected %zu floats\n", path, count);
    exit(1);
  }
  fclose(file);
}

static void print_best(const float* scores, size_t count, int best) {
  float last = 0;
  for (int rank = 0; rank < best && (size_t)rank < count; ++rank) {
    size_t top = count;
    for (size_t i = 0; i < count; ++i) {
      if (rank > 0 && scores[i] >= last) continue;
      if (top == count || scores[i] > scores[top]) top = i;
    }
    if (top == count) return;
    last = scores[top];
    printf("class %zu  %f\n", top, last);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: classify MODEL.onnx [INPUT.raw]\n");
    return 2;
  }
  fettle_model* model = NULL;
  check(fettle_model_load(argv[1], &model));
  fettle_value_info in = FETTLE_VALUE_INFO_INIT, out = FETTLE_VALUE_INFO_INIT;
  check(fettle_model_input(model, 0, &in));
  check(fettle_model_output(model, 0, &out));
  /* Open extents, such as the batch, become 1. */
  for (int i = 0; i < in.rank; ++i)
    if (in.dims[i] < 0) in.dims[i] = 1;

  fettle_tensor *input = NULL, *output = NULL;
  check(fettle_tensor_create(FETTLE_F32, in.rank, in.dims, &input));
  fill(fettle_tensor_data(input), fettle_tensor_size(input) / sizeof(float),
       argc > 2 ? argv[2] : NULL);

  fettle_session* session = NULL;
  check(fettle_session_create(model, NULL, &session));
  check(fettle_session_set_input(session, in.name, input));
  check(fettle_session_run(session));
  check(fettle_session_output(session, out.name, &output));
  if (fettle_tensor_dtype(output) != FETTLE_F32) {
    fprintf(stderr, "the output is %s, not f32\n", fettle_dtype_name(fettle_tensor_dtype(output)));
    return 1;
  }
  print_best(fettle_tensor_data(output), fettle_tensor_size(output) / sizeof(float), 5);

  fettle_tensor_free(output);
  fettle_tensor_free(input);
  fettle_session_free(session);
  fettle_model_free(model);
  return 0;
}
