#pragma once

#include "state.h"

namespace fettle::python {

struct ModelObject {
  PyObject_HEAD fettle_model* handle;  // null: closed
};

}  // namespace fettle::python
