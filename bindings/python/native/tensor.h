// fettle_tensor in Python, over its own memory, a buffer's or a DLPack capsule's.
#pragma once

#include "state.h"

namespace fettle::python {

struct DlManaged;

struct TensorObject {
  PyObject_HEAD fettle_tensor* handle;
  Py_buffer* view;      // of the object whose memory it is; null: none
  DlManaged* borrowed;  // what a capsule held; null: nothing
  bool writable;
  Py_ssize_t strides[FETTLE_MAX_RANK];  // in bytes
};

/// An object of fettle.Tensor that owns `handle`, which is freed where it fails.
Ref NewTensor(fettle_tensor* handle);
/// The tensor of an object of fettle.Tensor; null, raising nothing, for others.
TensorObject* AsTensor(PyObject* object);

/// A buffer while a call uses it, and the tensor over it.
class BufferTensor {
 public:
  BufferTensor() = default;
  ~BufferTensor();
  BufferTensor(const BufferTensor&) = delete;
  BufferTensor& operator=(const BufferTensor&) = delete;
  /// kOther: `object` has no contiguous buffer of a type that tensors have; nothing is raised.
  enum class Outcome { kOk, kFailed, kOther };
  Outcome Wrap(PyObject* object);
  const fettle_tensor* get() const { return handle_; }

 private:
  Py_buffer view_;
  bool has_view_ = false;
  fettle_tensor* handle_ = nullptr;
};

/// The type that a struct-module format and a size mean, of this machine's byte order;
/// FETTLE_UNDEFINED: none of ours.
fettle_dtype DtypeOfFormat(const char* format, Py_ssize_t size);

/// A NumPy array over the tensor's memory, which keeps it alive. Null: raised.
Ref ToArray(PyObject* tensor);
/// The same, or the tensor itself where its memory is not the host's.
Ref ShapeOf(const fettle_tensor* tensor);

/// dlpack.cc: a capsule over the tensor's memory, and a tensor over a capsule's.
PyObject* ToCapsule(PyObject* self, bool versioned);
PyObject* FromCapsule(PyObject* module, PyObject* capsule);
void ReleaseBorrowed(DlManaged* borrowed);

}  // namespace fettle::python
