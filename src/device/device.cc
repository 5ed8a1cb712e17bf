#include "device/device.h"

#include <algorithm>

namespace fettle {

MemoryRequest RequestFor(const Shape& shape, const State& state) {
  MemoryRequest request{.kind = state.memory, .storage = state.storage};
  request.bytes = StateBytes(shape, state);
  if (state.memory == MemoryKind::kHost || state.memory == MemoryKind::kBuffer) return request;
  const PhysicalDims dims = ToPhysical(shape, state.layout);
  request.width = request.height = 1;
  for (size_t i = 0; i + 1 < dims.extent.size(); ++i) {
    const bool is_y = static_cast<int>(i) < state.layout.image_y_dims;
    (is_y ? request.height : request.width) *= dims.extent[i];
  }
  return request;
}

Result<std::shared_ptr<DeviceMemory>> Device::Upload(const std::shared_ptr<const std::byte>& data,
                                                     int64_t bytes) const {
  ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory,
                   Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, NewStream({}));
  RETURN_IF_ERROR(stream->Write(*memory, 0, data.get(), bytes));
  return memory;
}

DeviceSet::DeviceSet(const Device& cpu, std::span<const Device* const> beside) : DeviceSet(cpu) {
  for (const Device* device : beside)
    if (device != nullptr && IndexOf(device->kind()) < 0) devices_.push_back(device);
}

int DeviceSet::IndexOf(DeviceKind kind) const {
  const auto found =
      std::ranges::find_if(devices_, [&](const Device* device) { return device->kind() == kind; });
  return found == devices_.end() ? -1 : static_cast<int>(found - devices_.begin());
}

const Device* DeviceSet::Find(DeviceKind kind) const {
  const int index = IndexOf(kind);
  return index < 0 ? nullptr : devices_[index];
}

std::string DeviceSet::fingerprint() const {
  std::string text(cpu().fingerprint());
  for (const Device* device : beside_cpu()) text += " + " + std::string(device->fingerprint());
  return text;
}

}  // namespace fettle
