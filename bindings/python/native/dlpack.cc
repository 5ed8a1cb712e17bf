// DLPack 1.0, and the unversioned capsules before it: github.com/dmlc/dlpack,
// include/dlpack/dlpack.h.
#include <array>

#include "tensor.h"

namespace fettle::python {

struct DlDevice {
  int32_t type, id;
};

struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType dtype;
  int64_t* shape;
  int64_t* strides;  // of elements; null: row-major without gaps
  uint64_t byte_offset;
};

struct DlUnversioned {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlUnversioned*);
};

struct DlVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DlVersioned*);
  uint64_t flags;
  DlTensor tensor;
};

/// What keeps a borrowed tensor's memory, of either kind.
struct DlManaged {
  DlUnversioned* old = nullptr;
  DlVersioned* versioned = nullptr;
};

namespace {

constexpr uint64_t kReadOnly = 1;
constexpr int32_t kCpu = 1, kCudaHost = 3, kRocmHost = 11;

constexpr char kOldName[] = "dltensor", kNewName[] = "dltensor_versioned";

struct TypeRow {
  fettle_dtype dtype;
  uint8_t code, bits;
};
constexpr TypeRow kTypes[] = {
    {FETTLE_I8, 0, 8},   {FETTLE_I16, 0, 16},      {FETTLE_I32, 0, 32},    {FETTLE_I64, 0, 64},
    {FETTLE_U8, 1, 8},   {FETTLE_U16, 1, 16},      {FETTLE_U32, 1, 32},    {FETTLE_U64, 1, 64},
    {FETTLE_F16, 2, 16}, {FETTLE_F32, 2, 32},      {FETTLE_F64, 2, 64},    {FETTLE_BF16, 4, 16},
    {FETTLE_BOOL, 6, 8}, {FETTLE_F8E4M3FN, 10, 8}, {FETTLE_F8E5M2, 12, 8},
};

const TypeRow* RowOf(fettle_dtype dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

/// What a capsule over one of our tensors holds.
template <typename Managed>
struct Export {
  Managed managed;
  PyObject* tensor;
  std::array<int64_t, FETTLE_MAX_RANK> shape, strides;
};

template <typename Managed>
void DeleteExport(Managed* managed) {
  auto* const exported = static_cast<Export<Managed>*>(managed->context);
  {
    const WithGil gil;
    Py_DECREF(exported->tensor);
  }
  delete exported;
}

template <typename Managed, const char* name>
void DestroyUnused(PyObject* capsule) {
  // Who took it renamed it.
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed, const char* name>
PyObject* MakeCapsule(PyObject* self, const TypeRow& type) {
  const auto* const tensor = reinterpret_cast<TensorObject*>(self);
  auto* const made = new Export<Managed>{};
  const int rank = fettle_tensor_rank(tensor->handle);
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    made->shape[at] = fettle_tensor_dims(tensor->handle)[i];
    made->strides[at] = tensor->strides[i] / (type.bits / 8);
  }
  made->managed.tensor = {fettle_tensor_data(tensor->handle),
                          {kCpu, 0},
                          rank,
                          {type.code, type.bits, 1},
                          made->shape.data(),
                          made->strides.data(),
                          0};
  made->managed.context = made;
  made->managed.deleter = DeleteExport<Managed>;
  if constexpr (requires { made->managed.flags; }) {
    made->managed.major = 1;
    made->managed.flags = tensor->writable ? 0 : kReadOnly;
  }
  PyObject* const capsule = PyCapsule_New(&made->managed, name, DestroyUnused<Managed, name>);
  if (capsule == nullptr) {
    delete made;
    return nullptr;
  }
  Py_INCREF(self);
  made->tensor = self;
  return capsule;
}

bool IsCompact(const DlTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// A tensor of the C interface over what a capsule holds; null: raised.
fettle_tensor* WrapDl(const DlTensor& tensor) {
  if (tensor.device.type != kCpu && tensor.device.type != kCudaHost &&
      tensor.device.type != kRocmHost) {
    Raise(FETTLE_UNSUPPORTED, "from_dlpack: the memory is a device's; only the host's can be read");
    return nullptr;
  }
  if (!IsCompact(tensor)) {
    Raise(FETTLE_INVALID_ARGUMENT,
          "from_dlpack: the elements are not contiguous in row-major order");
    return nullptr;
  }
  for (const TypeRow& row : kTypes) {
    if (row.code != tensor.dtype.code || row.bits != tensor.dtype.bits || tensor.dtype.lanes != 1)
      continue;
    size_t size = row.bits / 8;
    for (int i = 0; i < tensor.ndim; ++i) size *= static_cast<size_t>(tensor.shape[i]);
    fettle_tensor* handle = nullptr;
    Check(fettle_tensor_wrap(row.dtype, tensor.ndim, tensor.shape,
                             static_cast<char*>(tensor.data) + tensor.byte_offset, size, &handle));
    return handle;
  }
  Raise(FETTLE_UNSUPPORTED, "from_dlpack: elements of a type that tensors do not have");
  return nullptr;
}

}  // namespace

void ReleaseBorrowed(DlManaged* borrowed) {
  if (borrowed->old != nullptr && borrowed->old->deleter != nullptr)
    borrowed->old->deleter(borrowed->old);
  if (borrowed->versioned != nullptr && borrowed->versioned->deleter != nullptr)
    borrowed->versioned->deleter(borrowed->versioned);
  delete borrowed;
}

PyObject* ToCapsule(PyObject* self, bool versioned) {
  const auto* const tensor = reinterpret_cast<TensorObject*>(self);
  const TypeRow* const type = RowOf(fettle_tensor_dtype(tensor->handle));
  if (type == nullptr) return Raise(FETTLE_UNSUPPORTED, "__dlpack__: DLPack has no such type");
  if (fettle_tensor_data(tensor->handle) == nullptr && fettle_tensor_size(tensor->handle) > 0)
    return Raise(FETTLE_UNSUPPORTED, "__dlpack__: the tensor is not in the host's memory");
  if (versioned) return MakeCapsule<DlVersioned, kNewName>(self, *type);
  if (!tensor->writable) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__: capsules before DLPack 1.0 cannot be read-only");
    return nullptr;
  }
  return MakeCapsule<DlUnversioned, kOldName>(self, *type);
}

PyObject* FromCapsule(PyObject*, PyObject* capsule) {
  DlManaged held;
  if (PyCapsule_IsValid(capsule, kNewName) != 0)
    held.versioned = static_cast<DlVersioned*>(PyCapsule_GetPointer(capsule, kNewName));
  else if (PyCapsule_IsValid(capsule, kOldName) != 0)
    held.old = static_cast<DlUnversioned*>(PyCapsule_GetPointer(capsule, kOldName));
  else
    return Raise(FETTLE_INVALID_ARGUMENT, "from_dlpack: no capsule of DLPack, or one used before");
  if (held.versioned != nullptr && held.versioned->major != 1)
    return Raise(FETTLE_UNSUPPORTED, "from_dlpack: a capsule of another major version than 1");
  fettle_tensor* const handle =
      WrapDl(held.old != nullptr ? held.old->tensor : held.versioned->tensor);
  if (handle == nullptr) return nullptr;
  Ref tensor = NewTensor(handle);
  if (!tensor) return nullptr;
  auto* const object = reinterpret_cast<TensorObject*>(tensor.get());
  object->borrowed = new DlManaged(held);
  object->writable = held.versioned == nullptr || (held.versioned->flags & kReadOnly) == 0;
  PyCapsule_SetName(capsule, held.old != nullptr ? "used_dltensor" : "used_dltensor_versioned");
  return tensor.release();
}

}  // namespace fettle::python
