#include "exec/work_memory.h"

#include <algorithm>

#include "tensor/tensor.h"

namespace fettle::exec {

Status WorkMemory::Reserve(const MemoryPlan& plan, const DeviceSet& devices) {
  if (plan.arena_bytes > arena_bytes_) {
    arena_.reset();
    arena_bytes_ = 0;
    ASSIGN_OR_RETURN(arena_, AllocateHost(plan.arena_bytes));
    arena_bytes_ = plan.arena_bytes;
  }
  const Device* accelerator = devices.accelerator();
  if (accelerator == nullptr) return OkStatus();
  if (buffer_ == nullptr || plan.buffer_bytes > buffer_->request().bytes) {
    buffer_.reset();
    ASSIGN_OR_RETURN(
        buffer_, accelerator->Allocate({.kind = MemoryKind::kBuffer, .bytes = plan.buffer_bytes}));
  }
  std::array<size_t, 2> count{};
  for (const MemoryRequest& wanted : plan.images) {
    auto& images = images_[Of(wanted.storage)];
    const size_t index = count[Of(wanted.storage)]++;
    if (index == images.size()) images.emplace_back();
    MemoryRequest request = wanted;
    if (images[index] != nullptr) {
      const MemoryRequest& there = images[index]->request();
      if (there.width >= wanted.width && there.height >= wanted.height) continue;
      request.width = std::max(request.width, there.width);
      request.height = std::max(request.height, there.height);
    }
    images[index].reset();
    ASSIGN_OR_RETURN(images[index], accelerator->Allocate(request));
  }
  return OkStatus();
}

int64_t WorkMemory::device_bytes() const {
  int64_t bytes = buffer_ == nullptr ? 0 : buffer_->request().bytes;
  for (const auto& images : images_) {
    for (const auto& image : images)
      bytes +=
          image->request().width * image->request().height * 4 * ByteSize(image->request().storage);
  }
  return bytes;
}

}  // namespace fettle::exec
