// fettle_generate in Python.
#include "generate.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fettle::python {

PyObject* generator_type = nullptr;

GenerateData* GenerateDataOf(PyObject* self) {
  return reinterpret_cast<GenerateObject*>(self)->data;
}

GenerateData* OpenGenerate(PyObject* self) {
  GenerateData* const data = GenerateDataOf(self);
  if (data == nullptr || data->handle == nullptr) {
    Raise(FETTLE_INVALID_ARGUMENT, "the generator is closed");
    return nullptr;
  }
  if (data->forks == state.forks) return data;
  Raise(FETTLE_INVALID_ARGUMENT,
        "the generator was made before a fork of the process, and its threads are the parent's: "
        "make one in this process");
  return nullptr;
}

bool TokenOf(PyObject* object, int32_t* token) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  const bool fits = overflow == 0 && value >= 0 && value <= std::numeric_limits<int32_t>::max();
  *token = fits ? static_cast<int32_t>(value) : -1;
  return true;
}

namespace {

/// Calls function(handle) without the GIL; whether it succeeded, raised otherwise.
template <typename Function>
bool Call(GenerateData& data, Function&& function) {
  ++data.calls;
  fettle_status code;
  {
    const WithoutGil running;
    code = function(data.handle);
  }
  --data.calls;
  return Check(code);
}

Ref Make(PyTypeObject* type) {
  Ref self(reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0));
  if (!self) return self;
  auto* const data = new GenerateData;
  data->forks = state.forks;
  reinterpret_cast<GenerateObject*>(self.get())->data = data;
  return self;
}

/// Generator(path: bytes, context: int, threads: int, sequences: int, device: str, cache: str)
PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  const char *path = nullptr, *device = nullptr, *cache = nullptr;
  long long context = 0, threads = 0, sequences = 0;
  if (PyArg_ParseTuple(args, "yLLLss", &path, &context, &threads, &sequences, &device, &cache) == 0)
    return nullptr;
  fettle_generate_options options = FETTLE_GENERATE_OPTIONS_INIT;
  options.context = context;
  options.threads = threads;
  options.sequences = sequences;
  options.device = device;
  options.cache = cache;
  Ref self = Make(type);
  if (!self) return nullptr;
  GenerateData* const data = GenerateDataOf(self.get());
  const bool made = Call(*data, [&](fettle_generate*) {
    return fettle_generate_create(path, &options, &data->handle);
  });
  return made ? self.release() : nullptr;
}

/// Threads of a sequence do not live in a forked process, where waiting for them would never end.
void Free(GenerateData& data) {
  fettle_generate* const handle = std::exchange(data.handle, nullptr);
  if (handle == nullptr || data.forks != state.forks) return;
  const WithoutGil running;
  fettle_generate_free(handle);
}

void Dealloc(PyObject* self) {
  GenerateData* const data = GenerateDataOf(self);
  if (data != nullptr) Free(*data);
  delete data;
  FreeObject(self);
}

PyObject* Close(PyObject* self, PyObject*) {
  GenerateData& data = *GenerateDataOf(self);
  if (data.calls > 0) return Raise(FETTLE_BUSY, "another thread is using the generator");
  Free(data);
  Py_RETURN_NONE;
}

PyObject* IsClosed(PyObject* self, void*) {
  return PyBool_FromLong(GenerateDataOf(self)->handle == nullptr ? 1 : 0);
}

PyObject* Fork(PyObject* self, PyObject*) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  Ref other = Make(Py_TYPE(self));
  if (!other) return nullptr;
  const bool made = Call(*data, [&](const fettle_generate* generate) {
    return fettle_generate_fork(generate, &GenerateDataOf(other.get())->handle);
  });
  return made ? other.release() : nullptr;
}

/// (vocabulary, context, trained_context, position, begin_token, adds_begin, cache_bytes, threads)
PyObject* Facts(PyObject* self, PyObject*) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  fettle_generate_facts facts = FETTLE_GENERATE_FACTS_INIT;
  const auto get = [&](const fettle_generate* generate) {
    return fettle_generate_get_facts(generate, &facts);
  };
  if (!Call(*data, get)) return nullptr;
  const auto wide = [](int64_t value) { return static_cast<long long>(value); };
  return Py_BuildValue("(LLLLLLLL)", wide(facts.vocabulary), wide(facts.context),
                       wide(facts.trained_context), wide(facts.position), wide(facts.begin_token),
                       wide(facts.adds_begin), wide(facts.cache_bytes), wide(facts.threads));
}

/// What a function writes to an array, whose length it is asked for first.
template <typename Array, typename Function>
bool Fill(GenerateData& data, Array& array, Function function) {
  size_t count = 0;
  return Call(data, [&](fettle_generate* generate) {
    fettle_status code = function(generate, array.data(), 0, &count);
    if (code == FETTLE_OK) array.resize(count);
    return code == FETTLE_OK ? function(generate, array.data(), count, &count) : code;
  });
}

PyObject* BytesOf(const std::string& bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

/// _encode(text: bytes, special: bool) -> list of int
PyObject* Encode(PyObject* self, PyObject* args) {
  const char* text = nullptr;
  Py_ssize_t size = 0;
  int special = 0;
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr || PyArg_ParseTuple(args, "y#p", &text, &size, &special) == 0) return nullptr;
  std::vector<int32_t> tokens;
  const auto encode = [&](fettle_generate* generate, int32_t* to, size_t room, size_t* count) {
    return fettle_generate_encode(generate, text, static_cast<size_t>(size), special, to, room,
                                  count);
  };
  if (!Fill(*data, tokens, encode)) return nullptr;
  Ref list(PyList_New(static_cast<Py_ssize_t>(tokens.size())));
  for (size_t i = 0; list && i < tokens.size(); ++i)
    PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), PyLong_FromLong(tokens[i]));
  return list.release();
}

PyObject* Decode(PyObject* self, PyObject* object) {
  GenerateData* const data = OpenGenerate(self);
  int32_t token = 0;
  if (data == nullptr || !TokenOf(object, &token)) return nullptr;
  std::string bytes;
  const auto decode = [&](fettle_generate* generate, char* to, size_t room, size_t* size) {
    return fettle_generate_decode(generate, token, to, room, size);
  };
  return Fill(*data, bytes, decode) ? BytesOf(bytes) : nullptr;
}

PyObject* IsEnd(PyObject* self, PyObject* object) {
  GenerateData* const data = OpenGenerate(self);
  int32_t token = 0;
  if (data == nullptr || !TokenOf(object, &token)) return nullptr;
  return PyBool_FromLong(fettle_generate_is_end(data->handle, token));
}

/// _chat(question: str, system: str) -> bytes
PyObject* Chat(PyObject* self, PyObject* args) {
  const char *question = nullptr, *system = nullptr;
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr || PyArg_ParseTuple(args, "ss", &question, &system) == 0) return nullptr;
  std::string text;
  const auto chat = [&](fettle_generate* generate, char* to, size_t room, size_t* size) {
    return fettle_generate_chat(generate, system, question, to, room, size);
  };
  return Fill(*data, text, chat) ? BytesOf(text) : nullptr;
}

/// _read(tokens: sequence of int)
PyObject* Read(PyObject* self, PyObject* sequence) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  const Ref list(PySequence_List(sequence));
  if (!list) return nullptr;
  std::vector<int32_t> tokens(static_cast<size_t>(PyList_Size(list.get())));
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!TokenOf(PyList_GetItem(list.get(), static_cast<Py_ssize_t>(i)), &tokens[i]))
      return nullptr;
  }
  if (!Call(*data, [&](fettle_generate* generate) {
        return fettle_generate_read(generate, tokens.data(), tokens.size());
      }))
    return nullptr;
  Py_RETURN_NONE;
}

/// _logits() -> bytes of f32
PyObject* Logits(PyObject* self, PyObject*) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  const float* logits = nullptr;
  size_t count = 0;
  if (!Call(*data, [&](const fettle_generate* generate) {
        return fettle_generate_logits(generate, &logits, &count);
      }))
    return nullptr;
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(logits),
                                   static_cast<Py_ssize_t>(count * sizeof(float)));
}

/// _set_sampling(temperature, top_p, top_k, seed)
PyObject* SetSampling(PyObject* self, PyObject* args) {
  fettle_generate_sampling sampling = FETTLE_GENERATE_SAMPLING_INIT;
  long long top_k = 0;
  unsigned long long seed = 0;
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr ||
      PyArg_ParseTuple(args, "ddLK", &sampling.temperature, &sampling.top_p, &top_k, &seed) == 0)
    return nullptr;
  sampling.top_k = top_k;
  sampling.seed = seed;
  if (!Call(*data, [&](fettle_generate* generate) {
        return fettle_generate_set_sampling(generate, &sampling);
      }))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject* Next(PyObject* self, PyObject*) {
  GenerateData* const data = OpenGenerate(self);
  int32_t token = 0;
  if (data == nullptr || !Call(*data, [&](fettle_generate* generate) {
        return fettle_generate_next(generate, &token);
      }))
    return nullptr;
  return PyLong_FromLong(token);
}

PyObject* Rewind(PyObject* self, PyObject* object) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (!Call(*data, [&](fettle_generate* generate) {
        return fettle_generate_rewind(generate, overflow == 0 ? value : -1);
      }))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject* Save(PyObject* self, PyObject*) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  std::string bytes;
  return Fill(*data, bytes, fettle_generate_save) ? BytesOf(bytes) : nullptr;
}

PyObject* Restore(PyObject* self, PyObject* object) {
  GenerateData* const data = OpenGenerate(self);
  Py_buffer view;
  if (data == nullptr || PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) return nullptr;
  const bool done = Call(*data, [&](fettle_generate* generate) {
    return fettle_generate_restore(generate, view.buf, static_cast<size_t>(view.len));
  });
  PyBuffer_Release(&view);
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

PyObject* Cancel(PyObject* self, PyObject*) {
  GenerateData* const data = OpenGenerate(self);
  if (data == nullptr) return nullptr;
  fettle_generate_cancel(data->handle);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"_fork", Fork, METH_NOARGS, nullptr},
    {"_facts", Facts, METH_NOARGS, nullptr},
    {"_encode", Encode, METH_VARARGS, nullptr},
    {"_decode", Decode, METH_O, nullptr},
    {"_chat", Chat, METH_VARARGS, nullptr},
    {"_read", Read, METH_O, nullptr},
    {"_step", StepGenerators, METH_VARARGS | METH_STATIC, nullptr},
    {"_logits", Logits, METH_NOARGS, nullptr},
    {"_set_sampling", SetSampling, METH_VARARGS, nullptr},
    {"_next", Next, METH_NOARGS, nullptr},
    {"is_end", IsEnd, METH_O, "Whether an answer ends with this token."},
    {"rewind", Rewind, METH_O, "Forgets all but the first so many tokens."},
    {"save", Save, METH_NOARGS, "What was read so far as bytes, for `restore` of the same model."},
    {"restore", Restore, METH_O,
     "Goes on behind the tokens of a `save`, instead of those read so far."},
    {"cancel", Cancel, METH_NOARGS,
     "Makes a read in progress raise Cancelled; from any thread, never waits."},
    {"close", Close, METH_NOARGS,
     "Frees the sequence. Raises Busy while another thread's call uses it."},
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
PyType_Spec spec = {"fettle._native.Generator", sizeof(GenerateObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyObject* MakeGeneratorType() { return generator_type = PyType_FromSpec(&spec); }

}  // namespace fettle::python
