#include "exec/device_marks.h"

#include "device/marks_memory.h"

namespace fettle::exec {

Status DeviceMarks::MarkFresh(int device, const DeviceMemory& memory, int64_t offset,
                              int64_t bytes) const {
  auto* const marks = dynamic_cast<MarksMemory*>(streams_[device - 1].get());
  return marks == nullptr ? OkStatus() : marks->MarkFresh(memory, offset, bytes);
}

Status DeviceMarks::MarkImage(int device, DType storage, int index) const {
  const DeviceMemory& image = memory_.image_memory(device, storage, index);
  return MarkFresh(device, image, 0, image.request().bytes);
}

Status DeviceMarks::MarkAll() const {
  for (int d = 1; d < static_cast<int>(plan_.devices.size()); ++d) {
    const DeviceNeeds& needs = plan_.devices[d];
    if (needs.bytes > 0) RETURN_IF_ERROR(MarkFresh(d, memory_.buffer(d), 0, needs.bytes));
    for (const ImageLife& life : needs.image_lives)
      RETURN_IF_ERROR(MarkImage(d, life.storage, life.index));
  }
  return OkStatus();
}

Status DeviceMarks::Mark(int index) const {
  for (int d = 1; d < static_cast<int>(plan_.devices.size()); ++d) {
    for (const ArenaBlock& block : plan_.devices[d].blocks)
      if (block.first == index)
        RETURN_IF_ERROR(MarkFresh(d, memory_.buffer(d), block.offset, block.bytes));
    for (const ImageLife& life : plan_.devices[d].image_lives)
      if (life.first == index) RETURN_IF_ERROR(MarkImage(d, life.storage, life.index));
  }
  return OkStatus();
}

}  // namespace fettle::exec
