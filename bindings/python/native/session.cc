#include "session.h"

#include "model.h"
#include "tensor.h"

namespace fettle::python {
namespace {

/// All names of a model's inputs or outputs.
bool ReadNames(const fettle_model* model, bool of_outputs, Names* names) {
  const size_t count =
      of_outputs ? fettle_model_output_count(model) : fettle_model_input_count(model);
  names->index = Ref(PyDict_New());
  for (size_t i = 0; i < count; ++i) {
    fettle_value_info info = FETTLE_VALUE_INFO_INIT;
    if (!Check(of_outputs ? fettle_model_output(model, i, &info)
                          : fettle_model_input(model, i, &info)) ||
        !names->Add(info.name))
      return false;
  }
  return true;
}

/// Session(model, threads, reference, extra_outputs, device, strict, precision, memory,
/// queue_window, kernel_ms, programs, svm, when_busy, subnormals, max_memory, max_runs, start)
PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *model = nullptr, *extra = nullptr;
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  long long limit = 0, runs = 0;
  if (PyArg_ParseTuple(args, "OipO!zpzzidzzzzLLz", &model, &options.threads,
                       &options.reference_only, &PyTuple_Type, &extra, &options.device,
                       &options.strict_device, &options.precision, &options.memory,
                       &options.queue_window, &options.kernel_ms, &options.programs, &options.svm,
                       &options.when_busy, &options.subnormals, &limit, &runs, &options.start) == 0)
    return nullptr;
  options.max_memory = limit;
  options.max_runs = runs;
  const fettle_model* const handle = OpenModel(model);
  if (handle == nullptr) return nullptr;
  Ref self(reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0));
  if (!self) return nullptr;
  auto* const data = new SessionData;
  data->forks = state.forks;
  reinterpret_cast<SessionObject*>(self.get())->data = data;
  data->kept_inputs = Ref(PyDict_New());
  data->kept_outputs = Ref(PyDict_New());
  if (!ReadNames(handle, false, &data->inputs) || !ReadNames(handle, true, &data->outputs))
    return nullptr;
  data->model_outputs = data->outputs.texts.size();
  for (Py_ssize_t i = 0; i < PyTuple_Size(extra); ++i) {
    const Ref name(PyUnicode_AsUTF8String(PyTuple_GetItem(extra, i)));
    if (!name || !data->outputs.Add(PyBytes_AsString(name.get()))) return nullptr;
  }
  std::vector<const char*> extra_names;
  for (size_t i = data->model_outputs; i < data->outputs.texts.size(); ++i)
    extra_names.push_back(data->outputs.texts[i].c_str());
  options.extra_outputs = extra_names.data();
  options.extra_output_count = extra_names.size();
  SessionCall call(*data);
  return Check(call.Run([&](fettle_session*) {
    return fettle_session_create(handle, &options, &data->handle);
  }))
             ? self.release()
             : nullptr;
}

/// Threads of a session do not live in a forked process, where waiting for them would never end.
void Free(SessionData* data) {
  fettle_session* const handle = std::exchange(data->handle, nullptr);
  if (handle == nullptr || data->forks != state.forks) return;
  const WithoutGil running;
  fettle_session_free(handle);
}

void Dealloc(PyObject* self) {
  SessionData* const data = reinterpret_cast<SessionObject*>(self)->data;
  if (data != nullptr) Free(data);
  delete data;
  FreeObject(self);
}

PyObject* Close(PyObject* self, PyObject*) {
  SessionData* const data = reinterpret_cast<SessionObject*>(self)->data;
  if (data->calls > 0) return Raise(FETTLE_BUSY, "another thread is using the session");
  Free(data);
  PyDict_Clear(data->kept_inputs.get());
  PyDict_Clear(data->kept_outputs.get());
  Py_RETURN_NONE;
}

PyObject* IsClosed(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<SessionObject*>(self)->data->handle == nullptr ? 1 : 0);
}

/// _set(name, tensor or None, output: bool)
PyObject* Set(PyObject* self, PyObject* args) {
  PyObject *name = nullptr, *tensor = nullptr;
  int of_output = 0;
  SessionData* const data = Open(self);
  if (data == nullptr || PyArg_ParseTuple(args, "OOp", &name, &tensor, &of_output) == 0)
    return nullptr;
  const Names& names = of_output != 0 ? data->outputs : data->inputs;
  const Py_ssize_t at = names.Find(name, of_output != 0 ? "output" : "input");
  if (at < 0) return nullptr;
  TensorObject* const given = AsTensor(tensor);
  if (given != nullptr && of_output != 0 && !given->writable)
    return Raise(FETTLE_INVALID_ARGUMENT, "the memory of an output is read-only");
  const char* const text = names.texts[static_cast<size_t>(at)].c_str();
  fettle_tensor* const handle = given == nullptr ? nullptr : given->handle;
  SessionCall call(*data);
  if (!Check(call.Run([&](fettle_session* session) {
        return of_output != 0 ? fettle_session_set_output(session, text, handle)
                              : fettle_session_set_input(session, text, handle);
      })))
    return nullptr;
  // What was set before is let go only now that the session does not know it any more.
  PyObject* const kept = (of_output != 0 ? data->kept_outputs : data->kept_inputs).get();
  const Ref number(PyLong_FromSsize_t(at));
  if (PyDict_SetItem(kept, number.get(), tensor) != 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* Prepare(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  SessionCall call(*data);
  if (!Check(call.Run(fettle_session_prepare))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* Cancel(PyObject* self, PyObject*) {
  SessionData* const data = Open(self);
  if (data == nullptr) return nullptr;
  fettle_session_cancel(data->handle);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"_infer", Infer, METH_VARARGS, nullptr},
    {"_start", Start, METH_VARARGS, nullptr},
    {"_set", Set, METH_VARARGS, nullptr},
    {"_tune", Tune, METH_VARARGS, nullptr},
    {"_tune_in_background", TuneInBackground, METH_VARARGS, nullptr},
    {"_background", Background, METH_NOARGS, nullptr},
    {"_wait_for_background", WaitForBackground, METH_VARARGS, nullptr},
    {"cancel_background", CancelBackground, METH_NOARGS,
     "Ends a tuning in the background within a fifth of a second; from any thread, never waits."},
    {"_steps", Steps, METH_NOARGS, nullptr},
    {"_memory", Memory, METH_NOARGS, nullptr},
    {"_transfers", Transfers, METH_NOARGS, nullptr},
    {"prepare", Prepare, METH_NOARGS,
     "Plans, packs and allocates for the shapes of the inputs set so far, so that the first run "
     "need not."},
    {"cancel", Cancel, METH_NOARGS,
     "Makes the run or tuning in progress raise Cancelled; from any thread, never waits."},
    {"close", Close, METH_NOARGS,
     "Frees the session: cancels the asynchronous runs that wait, waits for the one that works. "
     "Raises Busy while another thread's call uses it."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef members[] = {
    {"closed", IsClosed, nullptr, "Whether close() was called.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, nullptr},
};
PyType_Spec spec = {"fettle._native.Session", sizeof(SessionObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool Names::Add(const char* name) {
  const Ref number(PyLong_FromSize_t(texts.size()));
  texts.emplace_back(name);
  return index && number && PyDict_SetItemString(index.get(), name, number.get()) == 0;
}

Py_ssize_t Names::Find(PyObject* name, const char* what) const {
  PyObject* const number =
      PyUnicode_Check(name) ? PyDict_GetItemWithError(index.get(), name) : nullptr;
  if (number != nullptr) return PyLong_AsSsize_t(number);
  if (PyErr_Occurred() != nullptr) return -1;
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "'" : ", '") + text + "'";
  const Ref message(PyUnicode_FromFormat("the model has no %s %R; its %ss are %s", what, name, what,
                                         all.empty() ? "none" : all.c_str()));
  const Ref text(message ? PyUnicode_AsUTF8String(message.get()) : nullptr);
  if (text) Raise(FETTLE_NOT_FOUND, PyBytes_AsString(text.get()));
  return -1;
}

SessionData* Open(PyObject* self) {
  SessionData* const data = reinterpret_cast<SessionObject*>(self)->data;
  if (data->handle == nullptr) {
    Raise(FETTLE_INVALID_ARGUMENT, "the session is closed");
    return nullptr;
  }
  if (data->forks != state.forks) {
    Raise(FETTLE_INVALID_ARGUMENT,
          "the session was made before a fork, and its threads are the parent's: make one in this "
          "process");
    return nullptr;
  }
  return data;
}

PyObject* MakeSessionType() { return PyType_FromSpec(&spec); }

}  // namespace fettle::python
