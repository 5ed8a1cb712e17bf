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

/* A frame as cameras give it: bytes, channels last. The map makes of it what the device stores. */
static void write_frame(fettle_tensor* tensor, int number) {
  fettle_map_options options = FETTLE_MAP_OPTIONS_INIT;
  options.layout = "NHWC";
  options.dtype = FETTLE_U8;
  fettle_mapping frame = FETTLE_MAPPING_INIT;
  check(fettle_tensor_map(tensor, FETTLE_MAP_WRITE, &options, &frame));
  for (size_t i = 0; i < frame.row_bytes; ++i) ((uint8_t*)frame.data)[i] = (uint8_t)(10 * number);
  check(fettle_tensor_unmap(tensor));
}

static float first_element(fettle_tensor* tensor) {
  fettle_mapping mapping = FETTLE_MAPPING_INIT;
  check(fettle_tensor_map(tensor, FETTLE_MAP_READ, NULL, &mapping));
  const float first = *(const float*)mapping.data;
  check(fettle_tensor_unmap(tensor));
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
    printf("frame %d: %.3f\n", number, value);
    wrong += value < 10.0f * (float)number - 0.01f || value > 10.0f * (float)number + 0.01f;
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
