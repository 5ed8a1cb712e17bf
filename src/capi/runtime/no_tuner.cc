// fettle.h: a tuner for code of the caller's own, which the runtime library lacks.
#include "capi/runtime/no_tuner.h"

#include "capi/handles.h"

namespace fettle::capi {

Status NoTuner(std::string_view what) {
  return Unsupported("{}: the runtime library has no tuner; link libfettle", what);
}

}  // namespace fettle::capi

namespace {

fettle_status NoTuner(const char* function) {
  return fettle::capi::Report(fettle::capi::NoTuner(function));
}

}  // namespace

fettle_status fettle_tuner_create(const char*, fettle_tuner**) {
  return NoTuner("fettle_tuner_create");
}
void fettle_tuner_free(fettle_tuner*) {}
fettle_status fettle_tuner_add_parameter(fettle_tuner*, const char*, const int64_t*, size_t) {
  return NoTuner("fettle_tuner_add_parameter");
}
fettle_status fettle_tuner_add_constraint(fettle_tuner*, const char*) {
  return NoTuner("fettle_tuner_add_constraint");
}
fettle_status fettle_tuner_set_constraint(fettle_tuner*, fettle_tuner_constraint, void*) {
  return NoTuner("fettle_tuner_set_constraint");
}
fettle_status fettle_tuner_add_known(fettle_tuner*, const int64_t*, size_t) {
  return NoTuner("fettle_tuner_add_known");
}
fettle_status fettle_tuner_set_options(fettle_tuner*, const fettle_tuner_options*) {
  return NoTuner("fettle_tuner_set_options");
}
fettle_status fettle_tuner_run(fettle_tuner*, const fettle_tuner_callbacks*) {
  return NoTuner("fettle_tuner_run");
}
void fettle_tuner_cancel(fettle_tuner*) {}
fettle_status fettle_tuner_ask(fettle_tuner*, int64_t*, size_t) {
  return NoTuner("fettle_tuner_ask");
}
fettle_status fettle_tuner_tell(fettle_tuner*, double) { return NoTuner("fettle_tuner_tell"); }
fettle_status fettle_tuner_best(const fettle_tuner*, int64_t*, size_t, double*) {
  return NoTuner("fettle_tuner_best");
}
fettle_status fettle_tuner_evaluation(const fettle_tuner*, int64_t, int64_t*, size_t, double*) {
  return NoTuner("fettle_tuner_evaluation");
}
fettle_status fettle_tuner_get_state(const fettle_tuner*, fettle_tuner_state*) {
  return NoTuner("fettle_tuner_get_state");
}
