/* make_package MODEL PACKAGE OUTPUT: tunes an ONNX model by the whole library, writes its package
 * and what a run of it gives for an input that the program beside this one gives too. */
#include <stdio.h>

#include "tests/capi/runtime/infer.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  fettle_model* model = NULL;
  fettle_session* session = NULL;
  EXPECT(fettle_model_load(argv[1], &model) == FETTLE_OK);
  EXPECT(fettle_session_create(model, NULL, &session) == FETTLE_OK);
  if (infer(model, session) != 0) return 1;
  fettle_tune_options tune = FETTLE_TUNE_OPTIONS_INIT;
  tune.level = "fast";
  tune.budget_seconds = 2;
  tune.package = argv[2];
  EXPECT(fettle_session_tune(session, &tune, NULL) == FETTLE_OK);
  if (infer(model, session) != 0) return 1;
  fettle_tensor* output = NULL;
  fettle_value_info info;
  info.struct_size = sizeof(info);
  EXPECT(fettle_model_output(model, 0, &info) == FETTLE_OK);
  EXPECT(fettle_session_output(session, info.name, &output) == FETTLE_OK);
  FILE* file = fopen(argv[3], "wb");
  EXPECT(file != NULL);
  EXPECT(fwrite(fettle_tensor_data(output), 1, fettle_tensor_size(output), file) ==
         fettle_tensor_size(output));
  EXPECT(fclose(file) == 0);
  fettle_tensor_free(output);
  fettle_session_free(session);
  fettle_model_free(model);
  return 0;
}
