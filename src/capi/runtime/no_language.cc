// fettle.h: language models, which the runtime library lacks.
#include "capi/handles.h"

namespace {

fettle_status NoLanguage() {
  return fettle::capi::Report(
      fettle::Unsupported("the runtime library has no language models; link libfettle"));
}

}  // namespace

fettle_status fettle_generate_create(const char*, const fettle_generate_options*,
                                     fettle_generate**) {
  return NoLanguage();
}
fettle_status fettle_generate_fork(const fettle_generate*, fettle_generate**) {
  return NoLanguage();
}
void fettle_generate_free(fettle_generate*) {}
fettle_status fettle_generate_get_facts(const fettle_generate*, fettle_generate_facts*) {
  return NoLanguage();
}
fettle_status fettle_generate_encode(const fettle_generate*, const char*, size_t, int, int32_t*,
                                     size_t, size_t*) {
  return NoLanguage();
}
fettle_status fettle_generate_decode(const fettle_generate*, int32_t, char*, size_t, size_t*) {
  return NoLanguage();
}
int fettle_generate_is_end(const fettle_generate*, int32_t) { return 0; }
fettle_status fettle_generate_chat(const fettle_generate*, const char*, const char*, char*, size_t,
                                   size_t*) {
  return NoLanguage();
}
fettle_status fettle_generate_read(fettle_generate*, const int32_t*, size_t) {
  return NoLanguage();
}
fettle_status fettle_generate_logits(const fettle_generate*, const float**, size_t*) {
  return NoLanguage();
}
fettle_status fettle_generate_set_sampling(fettle_generate*, const fettle_generate_sampling*) {
  return NoLanguage();
}
fettle_status fettle_generate_next(fettle_generate*, int32_t*) { return NoLanguage(); }
fettle_status fettle_generate_rewind(fettle_generate*, int64_t) { return NoLanguage(); }
fettle_status fettle_generate_save(const fettle_generate*, void*, size_t, size_t*) {
  return NoLanguage();
}
fettle_status fettle_generate_restore(fettle_generate*, const void*, size_t) {
  return NoLanguage();
}
fettle_status fettle_generate_step(fettle_generate* const*, const int32_t*, size_t) {
  return NoLanguage();
}
void fettle_generate_cancel(fettle_generate*) {}
