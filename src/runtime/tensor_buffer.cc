#include "runtime/tensor_buffer.h"

#include <atomic>
#include <cstring>

#include "device/own_copy.h"
#include "kernels/backend.h"

namespace fettle::runtime {
namespace {

/// A host tensor's bytes as memory.
class TensorMemory final : public DeviceMemory {
 public:
  explicit TensorMemory(const Tensor& tensor)
      : DeviceMemory({.bytes = std::ssize(tensor.bytes())}), tensor_(tensor) {}
  void* base() const override { return tensor_.data(); }
  std::byte* shared() const override { return tensor_.data(); }

 private:
  Tensor tensor_;
};

/// Types whose values a map may convert into each other: a double holds any of them.
bool IsConvertible(DType type) {
  const bool is_wide = IsInteger(type) && RowOf(type).bits > 53;
  return !is_wide && type != DType::kBool && !IsSubByte(type);
}

}  // namespace

uint64_t TensorBuffer::NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

TensorBuffer::TensorBuffer(Tensor host, bool recyclable)
    : host_(std::move(host)), recyclable_(recyclable) {
  if (host_.empty()) return;
  tensor_ = {.memory = std::make_shared<TensorMemory>(host_),
             .shape = host_.shape(),
             .state = {.storage = host_.dtype()}};
}

Result<std::shared_ptr<TensorBuffer>> TensorBuffer::Create(std::shared_ptr<const Device> device,
                                                           DType dtype, const Shape& shape,
                                                           const State& state) {
  const MemoryRequest request = RequestFor(shape, state);
  RETURN_IF_ERROR(device->CheckLimits(request));
  RETURN_IF_ERROR(kernels::CheckConversion(shape, State{.storage = dtype}, state));
  // Kernels may read a little past the end.
  MemoryRequest with_slack = request;
  if (state.memory == MemoryKind::kBuffer) with_slack.bytes += static_cast<int64_t>(kTensorSlack);
  auto buffer =
      std::make_shared<TensorBuffer>(Tensor::Borrow(dtype, shape, nullptr), /*recyclable=*/false);
  ASSIGN_OR_RETURN(auto memory, device->Allocate(with_slack));
  buffer->tensor_ = {.memory = std::move(memory), .shape = shape, .state = state};
  ASSIGN_OR_RETURN(buffer->stream_, device->NewStream({}));
  buffer->device_ = std::move(device);
  return buffer;
}

Result<std::shared_ptr<TensorBuffer>> TensorBuffer::OverMemoryOf(const TensorBuffer& other) {
  FETTLE_CHECK(other.device_ != nullptr, "tensors of the host share memory by themselves");
  auto buffer = std::make_shared<TensorBuffer>(other.host_, /*recyclable=*/false);
  buffer->tensor_ = other.tensor_;
  ASSIGN_OR_RETURN(buffer->stream_, other.device_->NewStream({}));
  buffer->device_ = other.device_;
  return buffer;
}

std::byte* TensorBuffer::base() const {
  return tensor_.memory == nullptr ? nullptr : static_cast<std::byte*>(tensor_.memory->base());
}

std::byte* TensorBuffer::shared() const {
  const bool is_plain = tensor_.memory != nullptr && tensor_.state.storage == dtype() &&
                        SameOffsets(shape(), Layout::RowMajor(), tensor_.state.layout);
  return is_plain ? tensor_.memory->shared() : nullptr;
}

Status TensorBuffer::CheckFree() const {
  if (mapped_ != nullptr) return Error(StatusCode::kBusy, "the tensor is mapped: unmap it first");
  if (writer_ || readers_ > 0) return Error(StatusCode::kBusy, "a run is using the tensor");
  return OkStatus();
}

Result<MappedView> TensorBuffer::Map(MapAccess access, const MapForm& form) {
  HostForm host{.layout = form.layout.value_or(Layout::RowMajor()),
                .storage = form.dtype == DType::kUndefined ? dtype() : form.dtype};
  if (form.as_stored)
    host = {.layout = tensor_.state.layout, .storage = tensor_.state.storage, .keeps_pitch = true};
  if (host.storage != tensor_.state.storage &&
      !(IsConvertible(host.storage) && IsConvertible(tensor_.state.storage)))
    return InvalidArgument("a tensor of {} cannot be mapped as {}",
                           DTypeName(tensor_.state.storage), DTypeName(host.storage));
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckFree());
  ASSIGN_OR_RETURN(mapped_, stream_ == nullptr ? MapHostTensor(tensor_, host, access)
                                               : stream_->Map(tensor_, host, access));
  return MappedView{.data = const_cast<std::byte*>(mapped_->data()),
                    .row_pitch = mapped_->row_pitch(),
                    .row_bytes = mapped_->row_bytes(),
                    .rows = mapped_->rows(),
                    .is_direct = mapped_->is_direct(),
                    .layout = host.layout,
                    .dtype = host.storage};
}

Status TensorBuffer::Unmap() {
  const std::lock_guard lock(mutex_);
  if (mapped_ == nullptr) return InvalidArgument("the tensor is not mapped");
  const std::unique_ptr<MappedTensor> mapped = std::move(mapped_);
  RETURN_IF_ERROR(mapped->Unmap());
  // Runs have streams of their own, which must see what was written.
  return stream_ == nullptr ? OkStatus() : stream_->Synchronise();
}

Result<Tensor> TensorBuffer::ReadToHost() {
  if (device_ == nullptr) return host_;
  ASSIGN_OR_RETURN(Tensor to, Tensor::Create(dtype(), shape()));
  RETURN_IF_ERROR(ReadInto(to));
  return to;
}

Status TensorBuffer::ReadInto(Tensor& to) { return ReadHeld(to, /*may_take=*/false); }
Status TensorBuffer::ReadOrTakeInto(Tensor& to) { return ReadHeld(to, /*may_take=*/true); }

Status TensorBuffer::ReadHeld(Tensor& to, bool may_take) {
  const std::lock_guard lock(mutex_);
  if (device_ == nullptr) {
    std::memcpy(to.data(), host_.data(), to.bytes().size());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const auto mapped,
                   stream_->Map(tensor_, {.storage = dtype()}, MapAccess::kRead));
  const auto* const with_copy = may_take ? dynamic_cast<const HasOwnCopy*>(mapped.get()) : nullptr;
  std::shared_ptr<std::byte> copy = with_copy == nullptr ? nullptr : with_copy->own_copy();
  std::byte* const data = copy.get();
  if (data != nullptr)
    to = Tensor::Borrow(dtype(), shape(), data, std::move(copy));
  else
    std::memcpy(to.data(), mapped->data(), to.bytes().size());
  return mapped->Unmap();
}

Status TensorBuffer::WriteFromHost(const Tensor& from) {
  const std::lock_guard lock(mutex_);
  if (device_ == nullptr) {
    std::memcpy(host_.data(), from.data(), from.bytes().size());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const auto mapped,
                   stream_->Map(tensor_, {.storage = dtype()}, MapAccess::kWrite));
  std::memcpy(mapped->writable(), from.data(), from.bytes().size());
  RETURN_IF_ERROR(mapped->Unmap());
  return stream_->Synchronise();
}

Status TensorBuffer::Acquire(bool writes) {
  const std::lock_guard lock(mutex_);
  if (writes || mapped_ != nullptr || writer_) RETURN_IF_ERROR(CheckFree());
  if (writes)
    writer_ = true;
  else
    ++readers_;
  return OkStatus();
}

void TensorBuffer::Release(bool writes) {
  const std::lock_guard lock(mutex_);
  if (writes)
    writer_ = false;
  else
    --readers_;
}

Transfers TensorBuffer::transfers() const {
  const std::lock_guard lock(mutex_);
  return stream_ == nullptr ? Transfers() : stream_->transfers();
}

}  // namespace fettle::runtime
