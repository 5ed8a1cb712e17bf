// fettle._native: the C interface as Python types, which fettle/*.py make pleasant.
#include "session.h"

namespace fettle::python {
namespace {

PyObject* log_function = nullptr;  // guarded by the GIL

void Log(fettle_log_level level, const char* line, void*) {
  const WithGil gil;
  if (log_function == nullptr) return;
  const Ref function = Ref::Borrow(log_function);
  const Ref done(PyObject_CallFunction(function.get(), "is", static_cast<int>(level), line));
  if (!done) PyErr_WriteUnraisable(function.get());
}

/// set_log(function or None, level)
PyObject* SetLog(PyObject*, PyObject* args) {
  PyObject* function = nullptr;
  int level = 0;
  if (PyArg_ParseTuple(args, "Oi", &function, &level) == 0) return nullptr;
  const bool none = function == Py_None;
  const Ref before(std::exchange(log_function, none ? nullptr : Ref::Borrow(function).release()));
  {
    const WithoutGil running;  // a line may be on its way
    fettle_set_log(none ? nullptr : Log, nullptr, static_cast<fettle_log_level>(level));
  }
  Py_RETURN_NONE;
}

/// configure(errors, ndarray, dtypes, find_dtype, tensor): what the module needs of Python.
PyObject* Configure(PyObject*, PyObject* args) {
  State given;
  if (PyArg_ParseTuple(args, "O!OO!OO", &PyDict_Type, &given.errors, &given.ndarray, &PyDict_Type,
                       &given.dtypes, &given.find_dtype, &given.tensor) == 0)
    return nullptr;
  for (PyObject* object :
       {given.errors, given.ndarray, given.dtypes, given.find_dtype, given.tensor})
    Py_INCREF(object);
  given.forks = state.forks;
  state = given;
  Py_RETURN_NONE;
}

/// forked(): this process is the child.
PyObject* Forked(PyObject*, PyObject*) {
  ++state.forks;
  Py_RETURN_NONE;
}

PyObject* Version(PyObject*, PyObject*) { return PyUnicode_FromString(fettle_version()); }

PyMethodDef methods[] = {
    {"configure", Configure, METH_VARARGS, nullptr},
    {"set_log", SetLog, METH_VARARGS, nullptr},
    {"forked", Forked, METH_NOARGS, nullptr},
    {"cancel_run", CancelRun, METH_O, nullptr},
    {"wait_for_run", WaitForRun, METH_O, nullptr},
    {"version", Version, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace fettle::python

PyMODINIT_FUNC PyInit__native() {
  using namespace fettle::python;
  Ref made(PyModule_Create(&module));
  const std::pair<const char*, PyObject* (*)()> types[] = {{"Tensor", MakeTensorType},
                                                           {"Model", MakeModelType},
                                                           {"Session", MakeSessionType},
                                                           {"Generator", MakeGeneratorType}};
  for (const auto& [name, make] : types) {
    PyObject* const type = make();
    if (!made || type == nullptr || PyModule_AddObject(made.get(), name, type) != 0) return nullptr;
  }
  return made.release();
}
