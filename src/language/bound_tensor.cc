#include "language/bound_tensor.h"

#include <algorithm>

#include "language/zero_pages.h"

namespace fettle::language {
namespace {

SharedBuffer OnHost(const Tensor& tensor) {
  return std::make_shared<runtime::TensorBuffer>(tensor, true);
}

Result<SharedBuffer> OnDevice(const std::shared_ptr<const Device>& device, DType dtype,
                              const Shape& shape) {
  const State state = {.device = device->kind(),
                       .memory = MemoryKind::kBuffer,
                       .layout = Layout::RowMajor(),
                       .storage = dtype};
  return runtime::TensorBuffer::Create(device, dtype, shape, state);
}

}  // namespace

Result<BoundTensor> BoundTensor::Create(const std::shared_ptr<const Device>& device, DType dtype,
                                        const Shape& shape) {
  BoundTensor bound;
  ASSIGN_OR_RETURN(bound.host, Tensor::Create(dtype, shape));
  if (device == nullptr) {
    bound.buffer = OnHost(bound.host);
  } else {
    ASSIGN_OR_RETURN(bound.buffer, OnDevice(device, dtype, shape));
  }
  return bound;
}

Status BoundTensor::Send() {
  constexpr size_t kFewBytes = 64;
  if (buffer->device() == nullptr) return OkStatus();
  const std::span<const std::byte> bytes = host.bytes();
  if (std::ranges::equal(bytes, sent_)) return OkStatus();
  sent_.clear();
  RETURN_IF_ERROR(buffer->WriteFromHost(host));
  if (bytes.size() <= kFewBytes) sent_.assign(bytes.begin(), bytes.end());
  return OkStatus();
}

Status BoundTensor::Fetch() {
  return buffer->device() == nullptr ? OkStatus() : buffer->ReadInto(host);
}

Result<CacheBuffers> MakeCache(const std::shared_ptr<const Device>& device, DType type,
                               const Shape& shape) {
  CacheBuffers made;
  if (device == nullptr) {
    ASSIGN_OR_RETURN(const Tensor cache, ZeroPages(type, shape));
    return CacheBuffers{OnHost(cache), OnHost(cache)};
  }
  ASSIGN_OR_RETURN(made.past, OnDevice(device, type, shape));
  ASSIGN_OR_RETURN(made.present, runtime::TensorBuffer::OverMemoryOf(*made.past));
  return made;
}

}  // namespace fettle::language
