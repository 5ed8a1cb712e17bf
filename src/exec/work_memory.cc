#include "exec/work_memory.h"

#include <algorithm>

#include "base/memory_budget.h"
#include "tensor/tensor.h"

namespace fettle::exec {

Status WorkMemory::Reserve(const MemoryPlan& plan, const DeviceSet& devices) {
  const int64_t wanted = plan.devices[0].bytes;
  if (wanted > capacity_) RETURN_IF_ERROR(Grow(wanted));
  arena_bytes_ = std::max(arena_bytes_, wanted);
  const auto beside = devices.beside_cpu();
  on_devices_.resize(std::max(on_devices_.size(), beside.size()));
  int64_t live = 0;
  for (size_t i = 0; i < beside.size(); ++i) {
    RETURN_IF_ERROR(Reserve(plan.devices[i + 1], *beside[i], on_devices_[i]));
    live += plan.devices[i + 1].live_bytes;
  }
  live_bytes_ = std::max(live_bytes_, live);
  return OkStatus();
}

/// Shapes that grow would each take fresh pages: there is room for more, where the limit of memory
/// leaves as much again. Room that nobody writes takes addresses, not memory.
Status WorkMemory::Grow(int64_t bytes) {
  constexpr int64_t kMostRoom = int64_t{64} << 20;
  const int64_t with_room = bytes + std::min(3 * bytes, kMostRoom);
  arena_.reset();
  arena_bytes_ = capacity_ = 0;
  const MemoryBudget& budget = *MemoryBudget::Current();
  const bool has_room = budget.limit() / 2 - budget.used() > with_room;
  const int64_t taken = has_room ? with_room : bytes;
  ASSIGN_OR_RETURN(arena_, AllocateHost(taken));
  capacity_ = taken;
  return OkStatus();
}

Status WorkMemory::Reserve(const DeviceNeeds& needs, const Device& device, OnDevice& memory) {
  if (memory.buffer == nullptr || needs.bytes > memory.buffer->request().bytes) {
    memory.buffer.reset();
    RETURN_IF_ERROR(MemoryBudget::Current()->Check(needs.bytes));
    ASSIGN_OR_RETURN(memory.buffer,
                     device.Allocate({.kind = MemoryKind::kBuffer, .bytes = needs.bytes}));
  }
  std::array<size_t, 2> count{};
  for (const MemoryRequest& wanted : needs.images) {
    auto& images = memory.images[Of(wanted.storage)];
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
    ASSIGN_OR_RETURN(images[index], device.Allocate(request));
  }
  return OkStatus();
}

int64_t WorkMemory::device_bytes() const {
  int64_t bytes = 0;
  for (const OnDevice& memory : on_devices_) {
    bytes += memory.buffer == nullptr ? 0 : memory.buffer->request().bytes;
    for (const auto& images : memory.images) {
      for (const auto& image : images)
        bytes += StorageBytes(image->request().storage,
                              image->request().width * image->request().height * 4);
    }
  }
  return bytes;
}

}  // namespace fettle::exec
