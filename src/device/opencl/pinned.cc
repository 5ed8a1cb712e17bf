#include "device/opencl/pinned.h"

#include <iterator>

#include "tensor/tensor.h"

namespace fettle {
namespace {

std::byte* AlignUp(std::byte* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return data + (kTensorAlignment - address % kTensorAlignment) % kTensorAlignment;
}

}  // namespace

std::shared_ptr<std::byte> PinnedPool::Allocate(int64_t bytes) {
  const size_t size = bytes + kTensorAlignment;
  cl_mem memory = nullptr;
  void* mapped = nullptr;
  std::byte* data = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (bytes > kMost - held_) return nullptr;
    cl_int code = CL_SUCCESS;
    memory = api_.CreateBuffer(static_cast<cl_context>(context_.get()),
                               CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &code);
    if (code != CL_SUCCESS) return nullptr;
    mapped = MapWhole(memory, size);
    if (mapped == nullptr) {
      api_.ReleaseMemObject(memory);
      return nullptr;
    }
    data = AlignUp(static_cast<std::byte*>(mapped));
    allocated_.emplace(data, bytes);
    held_ += bytes;
  }
  return {data, [pool = shared_from_this(), memory, mapped](std::byte* begin) {
            pool->Release(memory, mapped, begin);
          }};
}

void* PinnedPool::MapWhole(cl_mem memory, size_t size) {
  cl_int code = CL_SUCCESS;
  if (queue_ == nullptr)
    queue_ = api_.CreateCommandQueue(static_cast<cl_context>(context_.get()), device_, 0, &code);
  if (queue_ == nullptr) return nullptr;
  void* const data = api_.EnqueueMapBuffer(queue_, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                           size, 0, nullptr, nullptr, &code);
  return code == CL_SUCCESS ? data : nullptr;
}

void PinnedPool::Release(cl_mem memory, void* mapped, const std::byte* data) {
  std::lock_guard lock(mutex_);
  const auto entry = allocated_.find(data);
  held_ -= entry->second;
  allocated_.erase(entry);
  api_.EnqueueUnmapMemObject(queue_, memory, mapped, 0, nullptr, nullptr);
  api_.Finish(queue_);
  api_.ReleaseMemObject(memory);
}

bool PinnedPool::Holds(const void* data, int64_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  std::lock_guard lock(mutex_);
  const auto after = allocated_.upper_bound(begin);
  if (after == allocated_.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  return begin + bytes <= first + size;
}

}  // namespace fettle
