// fettle_model in Python.
#include "model.h"

#include <algorithm>
#include <cstring>

namespace fettle::python {
namespace {

ModelObject* Cast(PyObject* self) { return reinterpret_cast<ModelObject*>(self); }

fettle_status Load(const Ref& path, const char* bytes, Py_ssize_t size, const char* name,
                   fettle_model** model) {
  const char* const text = path ? PyBytes_AsString(path.get()) : nullptr;
  const WithoutGil running;
  return text != nullptr ? fettle_model_load(text, model)
                         : fettle_model_load_bytes(bytes, static_cast<size_t>(size), name, model);
}

/// Model(path: bytes or None, data: bytes-like or None, name: str)
PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *path = nullptr, *data = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "OOs", &path, &data, &name) == 0) return nullptr;
  Ref self(reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0));
  if (!self) return nullptr;
  Py_buffer view;
  const bool has_data = data != Py_None;
  if (has_data && PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) return nullptr;
  const fettle_status code =
      has_data ? Load(Ref(), static_cast<const char*>(view.buf), view.len, name,
                      &Cast(self.get())->handle)
               : Load(Ref::Borrow(path), nullptr, 0, name, &Cast(self.get())->handle);
  if (has_data) PyBuffer_Release(&view);
  return Check(code) ? self.release() : nullptr;
}

void Dealloc(PyObject* self) {
  fettle_model_free(Cast(self)->handle);
  FreeObject(self);
}

PyObject* Close(PyObject* self, PyObject*) {
  fettle_model_free(std::exchange(Cast(self)->handle, nullptr));
  Py_RETURN_NONE;
}

/// (name, dtype, shape or None, symbols): open extents None, the symbol of each axis "" where it
/// has none.
Ref Describe(const fettle_value_info& info) {
  Ref shape;
  if (info.rank >= 0) shape = Ref(PyTuple_New(info.rank));
  for (int i = 0; shape && i < info.rank; ++i) {
    PyObject* const extent =
        info.dims[i] < 0 ? Ref::Borrow(Py_None).release() : PyLong_FromLongLong(info.dims[i]);
    PyTuple_SetItem(shape.get(), i, extent);
  }
  if (!shape) shape = Ref::Borrow(Py_None);
  const Ref symbols(PyTuple_New(std::max(info.rank, 0)));
  for (int i = 0; symbols && i < info.rank; ++i) {
    const char* const symbol = info.symbols[i] == nullptr ? "" : info.symbols[i];
    PyTuple_SetItem(symbols.get(), i, PyUnicode_DecodeUTF8(symbol, std::strlen(symbol), "replace"));
  }
  if (!symbols) return Ref();
  return Ref(
      Py_BuildValue("(siOO)", info.name, static_cast<int>(info.dtype), shape.get(), symbols.get()));
}

/// Values(outputs: bool) -> list of what Describe gives.
PyObject* Values(PyObject* self, PyObject* outputs) {
  const fettle_model* const model = OpenModel(self);
  if (model == nullptr) return nullptr;
  const bool of_outputs = PyObject_IsTrue(outputs) == 1;
  const size_t count =
      of_outputs ? fettle_model_output_count(model) : fettle_model_input_count(model);
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i < count; ++i) {
    fettle_value_info info = FETTLE_VALUE_INFO_INIT;
    if (!Check(of_outputs ? fettle_model_output(model, i, &info)
                          : fettle_model_input(model, i, &info)))
      return nullptr;
    const Ref value = Describe(info);
    if (!value || PyList_Append(list.get(), value.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* IsClosed(PyObject* self, void*) {
  return PyBool_FromLong(Cast(self)->handle == nullptr ? 1 : 0);
}

PyMethodDef methods[] = {
    {"_values", Values, METH_O, nullptr},
    {"close", Close, METH_NOARGS, "Frees the model; sessions keep what they need of it."},
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
PyType_Spec spec = {"fettle._native.Model", sizeof(ModelObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

PyObject* model_type = nullptr;  // as long as the module

}  // namespace

PyObject* MakeModelType() { return model_type = PyType_FromSpec(&spec); }

const fettle_model* OpenModel(PyObject* object) {
  if (PyObject_IsInstance(object, model_type) != 1) {
    Raise(FETTLE_INVALID_ARGUMENT, "no fettle.Model");
    return nullptr;
  }
  const fettle_model* const model = Cast(object)->handle;
  if (model == nullptr) Raise(FETTLE_INVALID_ARGUMENT, "the model is closed");
  return model;
}

}  // namespace fettle::python
