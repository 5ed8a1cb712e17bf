/* Keeps a network's input and output in the memory of the device that computes it:
 * mapped MODEL.onnx [DEVICE]. The model takes f32 pictures [1,3,height,width] and enlarges them by
 * two, as the demonstration model does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fettle/fettle.h"

enum { kHeight = 24, kWidth = 32 };

static void check(fettle_status status) {
  if (status == FETTLE_OK) return;
  fprintf(stderr, "%s\n", fettle_last_error());
  exit(1);
}

/* A frame with its channels last, all of one brightness. The map makes of it what the tensor
 * stores. */
static void write_frame(fettle_tensor* tensor, int number) {
  fettle_map_options options = FETTLE_MAP_OPTIONS_INIT;
  options.layout = "NHWC";
  fettle_mapping frame = FETTLE_MAPPING_INIT;
  check(fettle_tensor_map(tensor, FETTLE_MAP_WRITE, &options, &frame));
  for (int i = 0; i < kHeight * kWidth * 3; ++i) ((float*)frame.data)[i] = 0.2f * (float)number;
  check(fettle_tensor_unmap(tensor));
}

static float first_element(fettle_tensor* tensor) {
  fettle_mapping mapping = FETTLE_MAPPING_INIT;
  check(fettle_tensor_map(tensor, FETTLE_MAP_READ, NULL, &mapping));
  const float first = *(const float*)mapping.data;
  check(fettle_tensor_unmap(tensor));
  return first;
}

/* The same on the CPU, from and to tensors of the host. */
static float first_element_on_host(fettle_model* model, const char* in, const char* out,
                                   const int64_t* dims, int number) {
  fettle_session* session = NULL;
  fettle_tensor *picture = NULL, *enlarged = NULL;
  check(fettle_session_create(model, NULL, &session));
  check(fettle_tensor_create(FETTLE_F32, 4, dims, &picture));
  write_frame(picture, number);
  check(fettle_session_set_input(session, in, picture));
  check(fettle_session_run(session));
  check(fettle_session_output(session, out, &enlarged));
  const float first = first_element(enlarged);
  check(fettle_tensor_free(enlarged));
  check(fettle_tensor_free(picture));
  fettle_session_free(session);
  return first;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: mapped MODEL.onnx [DEVICE]\n");
    return 2;
  }
  fettle_model* model = NULL;
  check(fettle_model_load(argv[1], &model));
  fettle_value_info in = FETTLE_VALUE_INFO_INIT, out = FETTLE_VALUE_INFO_INIT;
  check(fettle_model_input(model, 0, &in));
  check(fettle_model_output(model, 0, &out));

  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  options.device = argc > 2 ? argv[2] : "cpu";
  fettle_session* session = NULL;
  if (fettle_session_create(model, &options, &session) == FETTLE_DEVICE_UNAVAILABLE) {
    fprintf(stderr, "%s\n", fettle_last_error());
    return 77; /* skipped */
  }
  check(session == NULL ? fettle_session_create(model, &options, &session) : FETTLE_OK);

  const int64_t small[4] = {1, 3, kHeight, kWidth}, large[4] = {1, 3, 2 * kHeight, 2 * kWidth};
  fettle_tensor *picture = NULL, *enlarged = NULL;
  check(fettle_session_create_tensor(session, FETTLE_F32, 4, small, NULL, &picture));
  check(fettle_session_create_tensor(session, FETTLE_F32, 4, large, NULL, &enlarged));
  check(fettle_session_set_input(session, in.name, picture));
  check(fettle_session_set_output(session, out.name, enlarged));

  int wrong = 0;
  for (int number = 1; number <= 3; ++number) {
    write_frame(picture, number);
    check(fettle_session_run(session));
    const float value = first_element(enlarged);
    const float expected = first_element_on_host(model, in.name, out.name, small, number);
    printf("frame %d: %.3f, from the host's memory %.3f\n", number, value, expected);
    wrong += value < expected - 1e-4f || value > expected + 1e-4f;
  }

  fettle_transfers transfers = FETTLE_TRANSFERS_INIT;
  check(fettle_session_transfers(session, &transfers));
  printf("by the runs: %d copies, %d maps\n", (int)transfers.copies, (int)transfers.maps);
  wrong += transfers.copies != 0 || transfers.maps != 0;

  fettle_session_free(session);
  check(fettle_tensor_free(picture));
  check(fettle_tensor_free(enlarged));
  fettle_model_free(model);
  return wrong;
}
