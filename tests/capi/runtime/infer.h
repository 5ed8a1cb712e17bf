/* A run of the demonstration model with an input of its own, for both libraries. */
#ifndef TESTS_CAPI_RUNTIME_INFER_H
#define TESTS_CAPI_RUNTIME_INFER_H
#include <stdio.h>

#include "fettle/fettle.h"

#define EXPECT(condition)                                                                      \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, fettle_last_error()); \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)

enum { kExtent = 24 };

/* Runs `session` on a picture of 24x24 pixels; 0 where that went well. */
static int infer(const fettle_model* model, fettle_session* session) {
  const int64_t dims[4] = {1, 3, kExtent, kExtent};
  fettle_tensor* input = NULL;
  fettle_value_info info;
  info.struct_size = sizeof(info);
  EXPECT(fettle_model_input(model, 0, &info) == FETTLE_OK);
  EXPECT(fettle_tensor_create(FETTLE_F32, 4, dims, &input) == FETTLE_OK);
  float* pixels = fettle_tensor_data(input);
  for (int i = 0; i < 3 * kExtent * kExtent; ++i) pixels[i] = (float)(i * 37 % 256) / 255;
  EXPECT(fettle_session_set_input(session, info.name, input) == FETTLE_OK);
  EXPECT(fettle_session_run(session) == FETTLE_OK);
  EXPECT(fettle_tensor_free(input) == FETTLE_OK);
  return 0;
}
#endif
