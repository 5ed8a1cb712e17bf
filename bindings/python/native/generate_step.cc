// A step of several sequences in Python.
#include <cstdint>
#include <vector>

#include "generate.h"

namespace fettle::python {
namespace {

/// The sequences and tokens of a step; false: raised.
bool ReadStep(PyObject* generators, PyObject* numbers, std::vector<GenerateData*>& all,
              std::vector<int32_t>& tokens) {
  const auto count = static_cast<size_t>(PyList_Size(generators));
  if (PyList_Size(numbers) != PyList_Size(generators)) {
    Raise(FETTLE_INVALID_ARGUMENT, "a step takes a token for each generator");
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    PyObject* const object = PyList_GetItem(generators, at);
    const int is_one = PyObject_IsInstance(object, generator_type);
    if (is_one == 0) PyErr_SetString(PyExc_TypeError, "a step is of fettle.Generator objects");
    GenerateData* const data = is_one == 1 ? OpenGenerate(object) : nullptr;
    int32_t token = 0;
    if (data == nullptr || !TokenOf(PyList_GetItem(numbers, at), &token)) return false;
    all.push_back(data);
    tokens.push_back(token);
  }
  return true;
}

}  // namespace

PyObject* StepGenerators(PyObject*, PyObject* args) {
  PyObject *generators = nullptr, *numbers = nullptr;
  if (PyArg_ParseTuple(args, "OO", &generators, &numbers) == 0) return nullptr;
  const Ref objects(PySequence_List(generators)), list(PySequence_List(numbers));
  std::vector<GenerateData*> all;
  std::vector<int32_t> tokens;
  if (!objects || !list || !ReadStep(objects.get(), list.get(), all, tokens)) return nullptr;
  std::vector<fettle_generate*> handles;
  for (GenerateData* data : all) {
    handles.push_back(data->handle);
    ++data->calls;
  }
  fettle_status code;
  {
    const WithoutGil running;
    code = fettle_generate_step(handles.data(), tokens.data(), handles.size());
  }
  for (GenerateData* data : all) --data->calls;
  if (!Check(code)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace fettle::python
