#pragma once

#include "state.h"

namespace fettle::python {

struct ModelObject {
  PyObject_HEAD fettle_model* handle;  // null: closed
};

/// The model of an object of fettle.Model that is open; null: raised.
const fettle_model* OpenModel(PyObject* object);

}  // namespace fettle::python
