/* sessions MODEL [COUNT]: makes and frees so many sessions (300, or 10000 where $FETTLE_FULL_TESTS
 * is set), runs each, and has what can fail fail, under LeakSanitizer, which is linked in and looks
 * at the end; the library need not be built for it. MODEL is the demonstration model. */
#include <fettle/fettle.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(fettle_status wanted, fettle_status status, const char* what) {
  if (status == wanted) return;
  fprintf(stderr, "%s: %s, not %s: %s\n", what, fettle_status_name(status),
          fettle_status_name(wanted), fettle_last_error());
  exit(1);
}

static fettle_tensor* picture(int64_t width) {
  const int64_t dims[] = {1, 3, 8, width};
  fettle_tensor* made = NULL;
  expect(FETTLE_OK, fettle_tensor_create(FETTLE_F32, 4, dims, &made), "a tensor");
  return made;
}

/* Each way that a call of a session fails by what it is given. */
static void fail(fettle_model* model, fettle_session* session) {
  fettle_session* none = NULL;
  fettle_session_options wrong = FETTLE_SESSION_OPTIONS_INIT;
  wrong.threads = -1;
  expect(FETTLE_INVALID_ARGUMENT, fettle_session_create(model, &wrong, &none), "-1 threads");
  fettle_model* no_model = NULL;
  expect(FETTLE_NOT_FOUND, fettle_model_load("/no/such/model", &no_model), "no model");
  expect(FETTLE_INVALID_MODEL, fettle_model_load_bytes("nothing", 7, "bytes", &no_model), "bytes");
  const int64_t dims[] = {1, 2, 8, 8};
  fettle_tensor *wrong_shape = NULL, *result = NULL;
  expect(FETTLE_OK, fettle_tensor_create(FETTLE_F32, 4, dims, &wrong_shape), "a tensor");
  expect(FETTLE_NOT_FOUND, fettle_session_set_input(session, "other", wrong_shape), "other");
  const char *const inputs[] = {"picture"}, *const outputs[] = {"enhanced"};
  const fettle_tensor* const given[] = {wrong_shape};
  expect(FETTLE_INVALID_ARGUMENT,
         fettle_session_infer(session, inputs, given, 1, outputs, &result, 1), "two channels");
  fettle_tensor_free(wrong_shape);
}

/* One session, of the model given or of a copy of its own; two shapes, one of them set for good. */
static void use(fettle_model* model, const char* path, int number) {
  fettle_model* own = NULL;
  if (number % 8 == 0) expect(FETTLE_OK, fettle_model_load(path, &own), path);
  fettle_session* session = NULL;
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  options.threads = 1 + number % 2;
  expect(FETTLE_OK, fettle_session_create(own != NULL ? own : model, &options, &session), "create");
  fettle_model_free(own); /* which the session keeps */
  fettle_tensor *narrow = picture(8), *wide = picture(12), *result = NULL, *output = NULL;
  const char *const inputs[] = {"picture"}, *const outputs[] = {"enhanced"};
  const fettle_tensor* const given[] = {wide};
  expect(FETTLE_OK, fettle_session_infer(session, inputs, given, 1, outputs, &result, 1), "infer");
  expect(FETTLE_OK, fettle_session_set_input(session, "picture", narrow), "set_input");
  fettle_tensor_free(narrow); /* likewise */
  expect(FETTLE_OK, fettle_session_run(session), "run");
  expect(FETTLE_OK, fettle_session_output(session, "enhanced", &output), "output");
  fail(model, session);
  if (number % 2 == 0) fettle_session_free(session);
  fettle_tensor_free(result);
  fettle_tensor_free(output); /* before its session, and after it */
  fettle_tensor_free(wide);
  if (number % 2 == 1) fettle_session_free(session);
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  fettle_model* model = NULL;
  expect(FETTLE_OK, fettle_model_load(argv[1], &model), argv[1]);
  const int usual = getenv("FETTLE_FULL_TESTS") != NULL ? 10000 : 300;
  const int count = argc == 3 ? atoi(argv[2]) : usual;
  for (int number = 0; number < count; ++number) use(model, argv[1], number);
  fettle_model_free(model);
  printf("%d sessions\n", count);
  return 0;
}
