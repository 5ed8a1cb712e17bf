/* A user's project on the runtime library alone: one picture through a package. */
#include <stdio.h>

#include "fettle/fettle.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fettle_model* model = NULL;
  fettle_session* session = NULL;
  fettle_tensor *input = NULL, *output = NULL;
  fettle_value_info in = {sizeof(in)}, out = {sizeof(out)};
  const int64_t dims[4] = {1, 3, 8, 8};
  if (fettle_model_load(argv[1], &model) != FETTLE_OK ||
      fettle_session_create(model, NULL, &session) != FETTLE_OK ||
      fettle_model_input(model, 0, &in) != FETTLE_OK ||
      fettle_model_output(model, 0, &out) != FETTLE_OK ||
      fettle_tensor_create(FETTLE_F32, 4, dims, &input) != FETTLE_OK ||
      fettle_session_set_input(session, in.name, input) != FETTLE_OK ||
      fettle_session_run(session) != FETTLE_OK ||
      fettle_session_output(session, out.name, &output) != FETTLE_OK) {
    fprintf(stderr, "%s\n", fettle_last_error());
    return 1;
  }
  const int failed = fettle_tensor_rank(output) != 4 || fettle_tensor_dims(output)[3] != 16;
  fettle_tensor_free(input);
  fettle_tensor_free(output);
  fettle_session_free(session);
  fettle_model_free(model);
  return failed;
}
