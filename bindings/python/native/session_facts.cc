// Tuning a session, and what it says of its runs.
#include "session.h"

namespace fettle::python {
namespace {

/// Tells a Python function, and lets Ctrl-C through. Not 0: it raised, or asked for an end by
/// returning False.
int TellProgress(const fettle_tune_progress* now, void* function) {
  const WithGil gil;
  if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0) return 1;
  auto* const callable = static_cast<PyObject*>(function);
  if (callable == Py_None) return 0;
  const Ref answer(PyObject_CallFunction(callable, "LLdd", static_cast<long long>(now->measured),
                                         static_cast<long long>(now->open), now->seconds,
                                         now->predicted_ms));
  return !answer || answer.get() == Py_False ? 1 : 0;
}

}  // namespace

/// _tune(level, budget, database, package, packed_weights, progress) -> the report, a tuple.
PyObject* Tune(PyObject* self, PyObject* args) {
  fettle_tune_options options = FETTLE_TUNE_OPTIONS_INIT;
  PyObject* progress = nullptr;
  SessionData* const data = Open(self);
  if (data == nullptr ||
      PyArg_ParseTuple(args, "zdzzpO", &options.level, &options.budget_seconds, &options.database,
                       &options.package, &options.packed_weights, &progress) == 0)
    return nullptr;
  options.progress = TellProgress;
  options.user = progress;
  fettle_tune_report report = FETTLE_TUNE_REPORT_INIT;
  SessionCall call(*data);
  const fettle_status code = call.Run(
      [&](fettle_session* session) { return fettle_session_tune(session, &options, &report); });
  if (PyErr_Occurred() != nullptr || !Check(code)) return nullptr;
  return Py_BuildValue("(NdddLL)", PyBool_FromLong(report.accepted), report.default_ms,
                       report.tuned_ms, report.predicted_ms,
                       static_cast<long long>(report.measured),
                       static_cast<long long>(report.reused));
}

/// _tune_in_background(budget, share, level, database)
PyObject* TuneInBackground(PyObject* self, PyObject* args) {
  fettle_background_options options = FETTLE_BACKGROUND_OPTIONS_INIT;
  SessionData* const data = Open(self);
  if (data == nullptr || PyArg_ParseTuple(args, "ddzz", &options.budget_seconds, &options.share,
                                          &options.level, &options.database) == 0)
    return nullptr;
  SessionCall call(*data);
  if (!Check(call.Run([&](fettle_session* session) {
        return fettle_session_tune_in_background(session, &options);
      })))
    return nullptr;
  Py_RETURN_NONE;
}

/// _background() -> (stage, reason, is_over, measured, open, worked, waited, before_ms, after_ms)
PyObject* Background(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  fettle_background_state state = FETTLE_BACKGROUND_STATE_INIT;
  // With the GIL: it does not wait, and no other thread of Python has the reason changed.
  if (!Check(fettle_session_background(data->handle, &state))) return nullptr;
  return Py_BuildValue("(ssNLLdddd)", state.stage, state.reason,
                       PyBool_FromLong(state.is_over != 0), static_cast<long long>(state.measured),
                       static_cast<long long>(state.open), state.worked_seconds,
                       state.waited_seconds, state.before_ms, state.after_ms);
}

/// _wait_for_background(seconds) -> whether it is over.
PyObject* WaitForBackground(PyObject* self, PyObject* args) {
  double seconds = 0;
  SessionData* const data = Open(self);
  if (data == nullptr || PyArg_ParseTuple(args, "d", &seconds) == 0) return nullptr;
  SessionCall call(*data);
  const fettle_status code = call.Run(
      [&](fettle_session* session) { return fettle_session_wait_background(session, seconds); });
  if (code == FETTLE_BUSY) Py_RETURN_FALSE;
  if (!Check(code)) return nullptr;
  Py_RETURN_TRUE;
}

PyObject* CancelBackground(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  fettle_session_cancel_background(data->handle);
  Py_RETURN_NONE;
}

/// _steps() -> list of (node, op, kernel, ms, macs, bytes).
PyObject* Steps(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  // No run begins while this thread has the GIL, so the texts stay.
  if (data->calls > 0) return Raise(FETTLE_BUSY, "another thread is using the session");
  Ref list(PyList_New(0));
  const size_t count = fettle_session_step_count(data->handle);
  for (size_t i = 0; list && i < count; ++i) {
    fettle_step step = FETTLE_STEP_INIT;
    if (!Check(fettle_session_step(data->handle, i, &step))) return nullptr;
    const Ref row(Py_BuildValue("(sssdLL)", step.node, step.op, step.kernel, step.ms,
                                static_cast<long long>(step.macs),
                                static_cast<long long>(step.bytes)));
    if (!row || PyList_Append(list.get(), row.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* Memory(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  fettle_memory memory = FETTLE_MEMORY_INIT;
  SessionCall call(*data);
  if (!Check(call.Run(
          [&](fettle_session* session) { return fettle_session_memory(session, &memory); })))
    return nullptr;
  return Py_BuildValue("(LLL)", static_cast<long long>(memory.arena),
                       static_cast<long long>(memory.weights),
                       static_cast<long long>(memory.packed));
}

PyObject* Transfers(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  fettle_transfers transfers = FETTLE_TRANSFERS_INIT;
  SessionCall call(*data);
  if (!Check(call.Run(
          [&](fettle_session* session) { return fettle_session_transfers(session, &transfers); })))
    return nullptr;
  return Py_BuildValue("(LLLL)", static_cast<long long>(transfers.copies),
                       static_cast<long long>(transfers.copied_bytes),
                       static_cast<long long>(transfers.maps),
                       static_cast<long long>(transfers.conversions));
}

}  // namespace fettle::python
