// Failures of the C interface as exceptions.
#include "state.h"

namespace fettle::python {

State state;

PyObject* Raise(fettle_status code, const char* message) {
  const Ref number(PyLong_FromLong(code));
  PyObject* const type =
      state.errors == nullptr ? nullptr : PyDict_GetItemWithError(state.errors, number.get());
  PyErr_SetString(type == nullptr ? PyExc_RuntimeError : type, message);
  return nullptr;
}

PyObject* Raise(fettle_status code) { return Raise(code, fettle_last_error()); }

bool Check(fettle_status code) {
  if (code == FETTLE_OK) return true;
  Raise(code);
  return false;
}

void FreeObject(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

}  // namespace fettle::python
