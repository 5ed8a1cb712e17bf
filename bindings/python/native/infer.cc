// One inference: arrays in, arrays out, nothing copied; now, or while the caller does other things.
#include <memory>

#include "session.h"
#include "tensor.h"

namespace fettle::python {
namespace {

/// The inputs of one call, all kept from being freed or resized until it is over.
class Feeds {
 public:
  explicit Feeds(size_t count) : buffers_(std::make_unique<BufferTensor[]>(count)) {
    names_.reserve(count);
    tensors_.reserve(count);
    held_.reserve(count);
  }
  /// What has no buffer of a known type goes through `self`'s method _adapt, which gives a tensor.
  bool Add(PyObject* self, const Names& names, PyObject* name, PyObject* value);
  const char* const* names() const { return names_.data(); }
  const fettle_tensor* const* tensors() const { return tensors_.data(); }
  size_t size() const { return tensors_.size(); }

 private:
  bool AddTensor(PyObject* value) {
    const TensorObject* const tensor = AsTensor(value);
    if (tensor == nullptr) return false;
    held_.push_back(Ref::Borrow(value));
    tensors_.push_back(tensor->handle);
    return true;
  }

  std::vector<const char*> names_;
  std::vector<const fettle_tensor*> tensors_;
  std::vector<Ref> held_;
  std::unique_ptr<BufferTensor[]> buffers_;
  size_t used_ = 0;
};

bool Feeds::Add(PyObject* self, const Names& names, PyObject* name, PyObject* value) {
  const Ref value_held = Ref::Borrow(value), name_held = Ref::Borrow(name);
  const Py_ssize_t at = names.Find(name, "input");
  if (at < 0) return false;
  names_.push_back(names.texts[static_cast<size_t>(at)].c_str());
  if (AddTensor(value)) return true;
  BufferTensor& buffer = buffers_[used_++];
  switch (buffer.Wrap(value)) {
    case BufferTensor::Outcome::kOk: tensors_.push_back(buffer.get()); return true;
    case BufferTensor::Outcome::kFailed: return false;
    case BufferTensor::Outcome::kOther: break;
  }
  const Ref adapted(PyObject_CallMethod(self, "_adapt", "OO", name, value));
  if (!adapted) return false;
  if (AddTensor(adapted.get())) return true;
  Raise(FETTLE_INTERNAL, "_adapt gave no tensor");
  return false;
}

/// The numbers of the outputs that are asked for; false: raised.
bool ReadOutputs(const SessionData& data, PyObject* names, std::vector<const char*>* texts) {
  if (names == Py_None) {
    for (const std::string& text : data.outputs.texts) texts->push_back(text.c_str());
    return true;
  }
  if (!PyTuple_Check(names) && !PyList_Check(names)) {
    Raise(FETTLE_INVALID_ARGUMENT, "names of outputs: expected a list or a tuple");
    return false;
  }
  const Py_ssize_t count = PySequence_Size(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref name(PySequence_GetItem(names, i));
    const Py_ssize_t at = name ? data.outputs.Find(name.get(), "output") : -1;
    if (at < 0) return false;
    texts->push_back(data.outputs.texts[static_cast<size_t>(at)].c_str());
  }
  return true;
}

/// A list of what `tensors` hold, which it takes over.
PyObject* ToList(const std::vector<fettle_tensor*>& tensors, bool raw) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  bool ok = static_cast<bool>(list);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Ref tensor = NewTensor(tensors[i]);
    Ref item = !ok || !tensor ? Ref() : raw ? std::move(tensor) : ToArray(tensor.get());
    ok = ok && item && PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), item.release()) == 0;
  }
  return ok ? list.release() : nullptr;
}

/// `given`'s inputs; false: raised.
bool AddAll(PyObject* self, const SessionData& data, PyObject* given, Feeds* feeds) {
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(given, &at, &name, &value) != 0;)
    if (!feeds->Add(self, data.inputs, name, value)) return false;
  return true;
}

/// An asynchronous run: what it reads, until it has told how it ended.
struct Started {
  explicit Started(size_t inputs) : feeds(inputs) {}
  Feeds feeds;
  Ref deliver;
  bool raw = false;
};

/// Calls deliver(values or None, error or None) on the session's thread.
void Deliver(void* user, fettle_status status, fettle_tensor** outputs, size_t count) {
  const WithGil gil;
  const std::unique_ptr<Started> started(static_cast<Started*>(user));
  const Ref values(status == FETTLE_OK ? ToList({outputs, outputs + count}, started->raw)
                                       : Raise(status));
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  if (!values) {
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
  }
  const Ref held_type(type), held_error(error), held_trace(trace);
  const Ref done(PyObject_CallFunctionObjArgs(started->deliver.get(),
                                              values ? values.get() : Py_None,
                                              error == nullptr ? Py_None : error, nullptr));
  if (!done) PyErr_WriteUnraisable(started->deliver.get());
}

constexpr char kRun[] = "fettle.run";
fettle_run* RunOf(PyObject* capsule) {
  return static_cast<fettle_run*>(PyCapsule_GetPointer(capsule, kRun));
}
void FreeRun(PyObject* capsule) { fettle_run_free(RunOf(capsule)); }

}  // namespace

PyObject* Start(PyObject* self, PyObject* args) {
  PyObject *given = nullptr, *names = nullptr, *deliver = nullptr;
  int raw = 0;
  SessionData* const data = Open(self);
  if (data == nullptr ||
      PyArg_ParseTuple(args, "O!OpO", &PyDict_Type, &given, &names, &raw, &deliver) == 0)
    return nullptr;
  auto started = std::make_unique<Started>(data->inputs.texts.size());
  std::vector<const char*> outputs;
  if (!AddAll(self, *data, given, &started->feeds) || !ReadOutputs(*data, names, &outputs))
    return nullptr;
  started->deliver = Ref::Borrow(deliver);
  started->raw = raw != 0;
  fettle_run* run = nullptr;
  {
    SessionCall call(*data);
    const Feeds& feeds = started->feeds;
    if (!Check(call.Run([&](fettle_session* session) {
          const fettle_status status = fettle_session_run_async(
              session, feeds.names(), feeds.tensors(), feeds.size(), outputs.data(), outputs.size(),
              Deliver, started.get(), &run);
          if (status == FETTLE_OK) (void)started.release();  // the callback's
          return status;
        })))
      return nullptr;
  }
  PyObject* const capsule = PyCapsule_New(run, kRun, FreeRun);
  if (capsule == nullptr) fettle_run_free(run);
  return capsule;
}

PyObject* CancelRun(PyObject*, PyObject* capsule) {
  fettle_run* const run = RunOf(capsule);
  if (run == nullptr) return nullptr;
  fettle_run_cancel(run);
  Py_RETURN_NONE;
}

PyObject* WaitForRun(PyObject*, PyObject* capsule) {
  fettle_run* const run = RunOf(capsule);
  if (run == nullptr) return nullptr;
  const Ref held = Ref::Borrow(capsule);
  {
    const WithoutGil running;
    (void)fettle_run_wait(run);
  }
  Py_RETURN_NONE;
}

PyObject* Infer(PyObject* self, PyObject* args) {
  PyObject *given = nullptr, *names = nullptr;
  int raw = 0;
  SessionData* const data = Open(self);
  if (data == nullptr || PyArg_ParseTuple(args, "O!Op", &PyDict_Type, &given, &names, &raw) == 0)
    return nullptr;
  Feeds feeds(data->inputs.texts.size());
  if (!AddAll(self, *data, given, &feeds)) return nullptr;
  std::vector<const char*> outputs;
  outputs.reserve(data->outputs.texts.size());
  if (!ReadOutputs(*data, names, &outputs)) return nullptr;
  std::vector<fettle_tensor*> results(outputs.size());
  {
    SessionCall call(*data);
    if (!Check(call.Run([&](fettle_session* session) {
          return fettle_session_infer(session, feeds.names(), feeds.tensors(), feeds.size(),
                                      outputs.data(), results.data(), results.size());
        })))
      return nullptr;
  }
  return ToList(results, raw != 0);
}

}  // namespace fettle::python
