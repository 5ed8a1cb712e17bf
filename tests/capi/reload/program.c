/* reload LIBRARY MODEL: opens the library again and again, uses it, and closes it; after the first
 * times the heap does not grow. Wants GLIBC_TUNABLES=glibc.malloc.tcache_count=0: what threads keep
 * for themselves counts as in use. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "fettle/fettle.h"

#define FUNCTION(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(library, #name)

static int use(void* library, const char* path) {
  FUNCTION(fettle_last_error);
  FUNCTION(fettle_model_load);
  FUNCTION(fettle_model_free);
  FUNCTION(fettle_session_create);
  FUNCTION(fettle_session_free);
  FUNCTION(fettle_session_set_input);
  FUNCTION(fettle_session_run);
  FUNCTION(fettle_tensor_create);
  FUNCTION(fettle_tensor_free);
  FUNCTION(fettle_sgemm);
  fettle_model* model = NULL;
  if (p_fettle_model_load("/no/such/model", &model) == FETTLE_OK) return 1;
  if (strstr(p_fettle_last_error(), "/no/such/model") == NULL) return 1;
  if (p_fettle_model_load(path, &model) != FETTLE_OK) return 1;
  fettle_session* session = NULL;
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  options.threads = 2;
  if (p_fettle_session_create(model, &options, &session) != FETTLE_OK) return 1;
  const int64_t dims[4] = {1, 3, 4, 4};
  fettle_tensor* input = NULL;
  if (p_fettle_tensor_create(FETTLE_F32, 4, dims, &input) != FETTLE_OK) return 1;
  p_fettle_session_set_input(session, "picture", input);
  const int failed = p_fettle_session_run(session) != FETTLE_OK;
  float a[4] = {1, 2, 3, 4}, c[4];
  p_fettle_sgemm(0, 0, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2, 2);
  p_fettle_tensor_free(input);
  p_fettle_session_free(session);
  p_fettle_model_free(model);
  return failed;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  enum { kFirst = 3, kTimes = 20, kLeastBlock = 16 };
  size_t after_first = 0, after_last = 0;
  for (int i = 0; i < kFirst + kTimes; ++i) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    if (use(library, argv[2]) != 0) {
      fprintf(stderr, "use failed\n");
      return 1;
    }
    dlclose(library);
    after_last = mallinfo2().uordblks;
    if (i + 1 == kFirst) after_first = after_last;
  }
  const ptrdiff_t growth = (ptrdiff_t)after_last - (ptrdiff_t)after_first;
  printf("%td bytes in %d times\n", growth, kTimes);
  /* The smallest leak is a block each time; threads that come and go make less of a difference. */
  return growth >= kTimes * kLeastBlock;
}
