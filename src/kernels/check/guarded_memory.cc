#include "kernels/check/guarded_memory.h"

#include <cstring>

namespace fettle::kernels {

Status GuardedMemory::Resize(const MemoryRequest& request, const Device& device, Start start,
                             int64_t shift) {
  start_ = start;
  if (request.kind == MemoryKind::kHost) {
    memory_ = nullptr;
    return block_.Resize(request.bytes, shift);
  }
  RETURN_IF_ERROR(block_.Resize(request.bytes));
  MemoryRequest needed = request;
  if (request.kind == MemoryKind::kBuffer) needed.bytes += front() + GuardedBlock::kGuardBytes;
  if (device_ != &device) memory_ = nullptr;
  device_ = &device;
  const bool is_enough = memory_ != nullptr && needed.kind == MemoryKind::kBuffer &&
                         memory_->request().kind == MemoryKind::kBuffer &&
                         memory_->request().bytes >= needed.bytes;
  if (is_enough || (memory_ != nullptr && memory_->request() == needed)) return OkStatus();
  memory_ = nullptr;  // before the next takes its place
  ASSIGN_OR_RETURN(memory_, device.Allocate(needed));
  return OkStatus();
}

bool GuardedMemory::IsImage() const { return memory_->request().kind != MemoryKind::kBuffer; }

Location GuardedMemory::location() const {
  if (memory_ == nullptr) return {block_.data()};
  return memory_->location(IsImage() ? 0 : front());
}

Status GuardedMemory::Fill(std::byte value, Stream& stream) const {
  block_.Fill(value);
  return Send(stream);
}

Status GuardedMemory::Write(std::span<const std::byte> contents, Stream& stream) const {
  if (!contents.empty()) std::memcpy(block_.data(), contents.data(), contents.size());
  return Send(stream);
}

Status GuardedMemory::Send(Stream& stream) const {
  if (memory_ == nullptr) return OkStatus();
  if (IsImage()) return stream.Write(*memory_, 0, block_.data(), bytes());
  return stream.Write(*memory_, 0, block_.data() - front(),
                      front() + bytes() + GuardedBlock::kGuardBytes);
}

Status GuardedMemory::Fetch(Stream& stream) const {
  if (memory_ == nullptr) return OkStatus();
  if (IsImage()) return stream.Read(block_.data(), *memory_, 0, bytes());
  return stream.Read(block_.data() - front(), *memory_, 0,
                     front() + bytes() + GuardedBlock::kGuardBytes);
}

Status GuardedMemory::FetchCanaries(Stream& stream) const {
  if (memory_ == nullptr || IsImage()) return OkStatus();
  if (front() > 0) RETURN_IF_ERROR(stream.Read(block_.data() - front(), *memory_, 0, front()));
  return stream.Read(block_.data() + bytes(), *memory_, front() + bytes(),
                     GuardedBlock::kGuardBytes);
}

}  // namespace fettle::kernels
