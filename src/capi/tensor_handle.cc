// fettle.h: tensors.
#include "capi/handles.h"

using fettle::InvalidArgument;
using fettle::OkStatus;
using fettle::Result;
using fettle::Shape;
using fettle::Status;
using fettle::Tensor;
using fettle::capi::FromC;
using fettle::capi::Guard;

namespace fettle::capi {

Result<Shape> CheckedShape(fettle_dtype dtype, int rank, const int64_t* dims) {
  if (FromC(dtype) == fettle::DType::kUndefined)
    return InvalidArgument("dtype {} is not a value of fettle_dtype", static_cast<int>(dtype));
  if (rank < 0 || rank > FETTLE_MAX_RANK)
    return InvalidArgument("rank {}: expected 0 to {}", rank, FETTLE_MAX_RANK);
  if (rank > 0 && dims == nullptr) return InvalidArgument("dims is null");
  Shape shape(fettle::Dims(dims, dims + rank));
  if (!shape.CheckedElements())
    return InvalidArgument("shape {}: negative or too large", shape.ToString());
  return shape;
}

}  // namespace fettle::capi

using fettle::capi::CheckedShape;

fettle_status fettle_tensor_create(fettle_dtype dtype, int rank, const int64_t* dims,
                                   fettle_tensor** tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    ASSIGN_OR_RETURN(const Shape shape, CheckedShape(dtype, rank, dims));
    ASSIGN_OR_RETURN(Tensor made, Tensor::Create(FromC(dtype), shape));
    *tensor = new fettle_tensor{
        std::make_shared<fettle::runtime::TensorBuffer>(std::move(made), /*recyclable=*/true)};
    return OkStatus();
  });
}

fettle_status fettle_tensor_wrap(fettle_dtype dtype, int rank, const int64_t* dims, void* data,
                                 size_t size, fettle_tensor** tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    ASSIGN_OR_RETURN(const Shape shape, CheckedShape(dtype, rank, dims));
    const size_t element = fettle::StorageBytes(FromC(dtype), 1);
    const size_t expected = fettle::StorageBytes(FromC(dtype), shape.elements());
    if (size != expected)
      return InvalidArgument("size {}: a tensor of shape {} has {} bytes", size, shape.ToString(),
                             expected);
    if (size > 0) FETTLE_REQUIRE(data);
    if (reinterpret_cast<uintptr_t>(data) % element != 0)
      return InvalidArgument("data is not aligned to its elements of {} bytes", element);
    *tensor = new fettle_tensor{std::make_shared<fettle::runtime::TensorBuffer>(
        Tensor::Borrow(FromC(dtype), shape, static_cast<std::byte*>(data)), /*recyclable=*/false)};
    return OkStatus();
  });
}

fettle_status fettle_tensor_free(fettle_tensor* tensor) {
  return Guard([&]() -> Status {
    if (tensor != nullptr && tensor->is_mapped)
      return fettle::Error(fettle::StatusCode::kBusy,
                           "the tensor is mapped: unmap it before it is freed");
    delete tensor;
    return OkStatus();
  });
}

fettle_dtype fettle_tensor_dtype(const fettle_tensor* tensor) {
  return tensor == nullptr ? FETTLE_UNDEFINED : fettle::capi::ToC(tensor->buffer->dtype());
}

int fettle_tensor_rank(const fettle_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->buffer->shape().rank();
}

const int64_t* fettle_tensor_dims(const fettle_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->buffer->shape().dims().data();
}

void* fettle_tensor_data(const fettle_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->buffer->shared();
}

size_t fettle_tensor_size(const fettle_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->buffer->host().bytes().size();
}
