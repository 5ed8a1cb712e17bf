#include "tensor.h"

#include <cstring>
#include <new>
#include <vector>

namespace fettle::python {
namespace {

TensorObject* Cast(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

/// Takes what `args` give: (dtype, shape).
bool ReadShape(PyObject* args, int* dtype, std::vector<int64_t>* dims) {
  PyObject* shape = nullptr;
  if (PyArg_ParseTuple(args, "iO!", dtype, &PyTuple_Type, &shape) == 0) return false;
  dims->resize(static_cast<size_t>(PyTuple_Size(shape)));
  for (size_t i = 0; i < dims->size(); ++i) {
    (*dims)[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, static_cast<Py_ssize_t>(i)));
    if ((*dims)[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

PyObject* Allocate(PyTypeObject* type) {
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

void Own(TensorObject* self, fettle_tensor* handle) {
  self->handle = handle;
  self->writable = true;
  const int rank = fettle_tensor_rank(handle);
  const int64_t* const dims = fettle_tensor_dims(handle);
  auto stride = static_cast<Py_ssize_t>(fettle_dtype_size(fettle_tensor_dtype(handle)));
  for (int i = rank - 1; i >= 0; --i) {
    self->strides[i] = stride;
    stride *= static_cast<Py_ssize_t>(dims[i] > 0 ? dims[i] : 1);
  }
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  int dtype = 0;
  std::vector<int64_t> dims;
  if (!ReadShape(args, &dtype, &dims)) return nullptr;
  Ref self(Allocate(type));
  if (!self) return nullptr;
  fettle_tensor* handle = nullptr;
  if (!Check(fettle_tensor_create(static_cast<fettle_dtype>(dtype), static_cast<int>(dims.size()),
                                  dims.data(), &handle)))
    return nullptr;
  Own(Cast(self.get()), handle);
  return self.release();
}

void Dealloc(PyObject* self) {
  TensorObject* const tensor = Cast(self);
  fettle_tensor_free(tensor->handle);
  if (tensor->view != nullptr) PyBuffer_Release(tensor->view);
  delete tensor->view;
  if (tensor->borrowed != nullptr) ReleaseBorrowed(tensor->borrowed);
  FreeObject(self);
}

const char* FormatOf(fettle_dtype dtype) {
  switch (dtype) {
    case FETTLE_F32: return "f";
    case FETTLE_F64: return "d";
    case FETTLE_F16: return "e";
    case FETTLE_BOOL: return "?";
    case FETTLE_I8:
    case FETTLE_I4: return "b";
    case FETTLE_I16: return "h";
    case FETTLE_I32: return "i";
    case FETTLE_I64: return "q";
    case FETTLE_U16:
    case FETTLE_BF16: return "H";
    case FETTLE_U32: return "I";
    case FETTLE_U64: return "Q";
    default: return "B";
  }
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  TensorObject* const tensor = Cast(self);
  static char nothing = 0;
  void* const data = fettle_tensor_data(tensor->handle);
  const size_t size = fettle_tensor_size(tensor->handle);
  if ((flags & PyBUF_WRITABLE) != 0 && !tensor->writable) {
    PyErr_SetString(PyExc_BufferError, "the tensor's memory is read-only");
    return -1;
  }
  if (data == nullptr && size > 0) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not in the host's memory");
    return -1;
  }
  const fettle_dtype dtype = fettle_tensor_dtype(tensor->handle);
  Py_INCREF(self);
  view->obj = self;
  view->buf = data == nullptr ? &nothing : data;
  view->len = static_cast<Py_ssize_t>(size);
  view->itemsize = static_cast<Py_ssize_t>(fettle_dtype_size(dtype));
  view->readonly = tensor->writable ? 0 : 1;
  view->ndim = fettle_tensor_rank(tensor->handle);
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(FormatOf(dtype)) : nullptr;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  view->shape =
      (flags & PyBUF_ND) != 0
          ? reinterpret_cast<Py_ssize_t*>(const_cast<int64_t*>(fettle_tensor_dims(tensor->handle)))
          : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? tensor->strides : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

PyObject* GetDtype(PyObject* self, void*) {
  return PyLong_FromLong(fettle_tensor_dtype(Cast(self)->handle));
}
PyObject* GetShape(PyObject* self, void*) { return ShapeOf(Cast(self)->handle).release(); }
PyObject* GetSize(PyObject* self, void*) {
  return PyLong_FromSize_t(fettle_tensor_size(Cast(self)->handle));
}
PyObject* GetAddress(PyObject* self, void*) {
  return PyLong_FromVoidPtr(fettle_tensor_data(Cast(self)->handle));
}
PyObject* GetReadOnly(PyObject* self, void*) {
  return PyBool_FromLong(Cast(self)->writable ? 0 : 1);
}

PyObject* Numpy(PyObject* self, PyObject*) { return ToArray(self).release(); }
PyObject* Capsule(PyObject* self, PyObject* versioned) {
  return ToCapsule(self, PyObject_IsTrue(versioned) == 1);
}

/// Wrap(object, dtype, writable) -> fettle.Tensor over the object's buffer; dtype 0: the buffer's.
PyObject* WrapBuffer(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int dtype = 0, writable = 0;
  if (PyArg_ParseTuple(args, "Oip", &object, &dtype, &writable) == 0) return nullptr;
  Ref self(Allocate(reinterpret_cast<PyTypeObject*>(state.tensor)));
  if (!self) return nullptr;
  TensorObject* const tensor = Cast(self.get());
  auto* const view = new Py_buffer;
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable != 0 ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object, view, flags) != 0) {
    delete view;
    return nullptr;
  }
  tensor->view = view;
  if (dtype == 0) dtype = DtypeOfFormat(view->format, view->itemsize);
  fettle_tensor* handle = nullptr;
  if (!Check(fettle_tensor_wrap(static_cast<fettle_dtype>(dtype), view->ndim,
                                reinterpret_cast<const int64_t*>(view->shape), view->buf,
                                static_cast<size_t>(view->len), &handle)))
    return nullptr;
  Own(tensor, handle);
  tensor->writable = view->readonly == 0;
  return self.release();
}

PyMethodDef methods[] = {
    {"numpy", Numpy, METH_NOARGS,
     "An array over the tensor's memory, which stays as long as the array; nothing is copied."},
    {"_capsule", Capsule, METH_O, nullptr},
    {"_wrap", WrapBuffer, METH_VARARGS | METH_STATIC, nullptr},
    {"_from_capsule", FromCapsule, METH_O | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef members[] = {
    {"_dtype", GetDtype, nullptr, nullptr, nullptr},
    {"shape", GetShape, nullptr, "Extents, a tuple.", nullptr},
    {"nbytes", GetSize, nullptr, "Bytes of all elements.", nullptr},
    {"data_ptr", GetAddress, nullptr, "Address of the first element.", nullptr},
    {"readonly", GetReadOnly, nullptr, "Whether the memory may not be written.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
    {0, nullptr},
};

PyType_Spec spec = {"fettle._native.Tensor", sizeof(TensorObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyObject* MakeTensorType() { return PyType_FromSpec(&spec); }

Ref NewTensor(fettle_tensor* handle) {
  Ref self(Allocate(reinterpret_cast<PyTypeObject*>(state.tensor)));
  if (self)
    Own(Cast(self.get()), handle);
  else
    fettle_tensor_free(handle);
  return self;
}

TensorObject* AsTensor(PyObject* object) {
  if (Py_TYPE(object) != reinterpret_cast<PyTypeObject*>(state.tensor)) return nullptr;
  return Cast(object);
}

BufferTensor::~BufferTensor() {
  fettle_tensor_free(handle_);
  if (has_view_) PyBuffer_Release(&view_);
}

BufferTensor::Outcome BufferTensor::Wrap(PyObject* object) {
  if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return Outcome::kOther;
  }
  has_view_ = true;
  const fettle_dtype dtype = DtypeOfFormat(view_.format, view_.itemsize);
  if (dtype == FETTLE_UNDEFINED) return Outcome::kOther;
  return Check(fettle_tensor_wrap(dtype, view_.ndim, reinterpret_cast<const int64_t*>(view_.shape),
                                  view_.buf, static_cast<size_t>(view_.len), &handle_))
             ? Outcome::kOk
             : Outcome::kFailed;
}

fettle_dtype DtypeOfFormat(const char* format, Py_ssize_t size) {
  if (format == nullptr) return FETTLE_U8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == '\0' || format[1] != '\0') return FETTLE_UNDEFINED;
  if (*format == '?') return FETTLE_BOOL;
  const auto of_size = [size](fettle_dtype one, fettle_dtype two, fettle_dtype four,
                              fettle_dtype eight) {
    return size == 1   ? one
           : size == 2 ? two
           : size == 4 ? four
           : size == 8 ? eight
                       : FETTLE_UNDEFINED;
  };
  if (std::strchr("efd", *format) != nullptr)
    return of_size(FETTLE_UNDEFINED, FETTLE_F16, FETTLE_F32, FETTLE_F64);
  if (std::strchr("bhilqn", *format) != nullptr)
    return of_size(FETTLE_I8, FETTLE_I16, FETTLE_I32, FETTLE_I64);
  if (std::strchr("BHILQN", *format) != nullptr)
    return of_size(FETTLE_U8, FETTLE_U16, FETTLE_U32, FETTLE_U64);
  return FETTLE_UNDEFINED;
}

Ref ShapeOf(const fettle_tensor* tensor) {
  const int rank = fettle_tensor_rank(tensor);
  const int64_t* const dims = fettle_tensor_dims(tensor);
  Ref shape(PyTuple_New(rank));
  for (int i = 0; shape && i < rank; ++i) {
    PyObject* const extent = PyLong_FromLongLong(dims[i]);
    if (extent == nullptr) return Ref();
    PyTuple_SetItem(shape.get(), i, extent);
  }
  return shape;
}

Ref ToArray(PyObject* tensor) {
  const fettle_tensor* const handle = Cast(tensor)->handle;
  const Ref number(PyLong_FromLong(fettle_tensor_dtype(handle)));
  Ref dtype = Ref::Borrow(PyDict_GetItemWithError(state.dtypes, number.get()));
  if (!dtype && PyErr_Occurred() == nullptr)
    dtype = Ref(PyObject_CallFunctionObjArgs(state.find_dtype, number.get(), nullptr));
  if (!dtype) return Ref();
  const Ref shape = ShapeOf(handle);
  if (!shape) return Ref();
  return Ref(
      PyObject_CallFunctionObjArgs(state.ndarray, shape.get(), dtype.get(), tensor, nullptr));
}

}  // namespace fettle::python
