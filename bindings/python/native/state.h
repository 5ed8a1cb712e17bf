// What the parts of the module share. All of it is guarded by the GIL.
#pragma once

#include <fettle/fettle.h>

#include <cstdint>

#include "python.h"

namespace fettle::python {

/// Set once by fettle/__init__.py, through configure().
struct State {
  PyObject* errors = nullptr;      // dict: status -> class of exceptions
  PyObject* ndarray = nullptr;     // numpy.ndarray
  PyObject* dtypes = nullptr;      // dict: fettle_dtype -> numpy.dtype
  PyObject* find_dtype = nullptr;  // called with a fettle_dtype that `dtypes` lacks: fills it
  PyObject* tensor = nullptr;      // fettle.Tensor
  int64_t forks = 0;               // between the first process and this one
};
extern State state;

/// Raises the class of `code` with the C interface's last message, or with `message`; null.
PyObject* Raise(fettle_status code);
PyObject* Raise(fettle_status code, const char* message);
/// Raises unless `code` is FETTLE_OK.
bool Check(fettle_status code);

/// The type objects of the module, made when it is loaded; null: Python knows why.
PyObject* MakeTensorType();
PyObject* MakeModelType();
PyObject* MakeSessionType();
PyObject* MakeGeneratorType();

/// Frees an object of a heap type after its own members.
void FreeObject(PyObject* self);

}  // namespace fettle::python
