#include "device/cuda/copies.h"

#include <algorithm>

namespace fettle::cuda {
namespace {

/// Blocks that are kept.
constexpr size_t kMostFree = 16;

}  // namespace

Copies::~Copies() {
  for (const Block& block : free_) Free(block);
}

Status Copies::ToDevice(Address to, const void* from, int64_t bytes) const {
  const PrimaryContext::Scope scope(*context_);
  const Api& api = context_->api();
  return StatusOf(api, api.CopyToDevice(to, from, static_cast<size_t>(bytes)),
                  "copying to the device");
}

Status Copies::FromDevice(void* to, Address from, int64_t bytes) const {
  const PrimaryContext::Scope scope(*context_);
  const Api& api = context_->api();
  return StatusOf(api, api.CopyFromDevice(to, from, static_cast<size_t>(bytes)),
                  "copying from the device");
}

std::shared_ptr<std::byte> Copies::HostMemory(int64_t bytes) {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::ranges::find_if(free_, [bytes](const Block& of) {
      return of.bytes >= bytes && of.bytes / 2 <= std::max<int64_t>(bytes, 4096);
    });
    if (fits != free_.end()) {
      block = *fits;
      free_.erase(fits);
    }
  }
  if (block.data == nullptr) {
    const PrimaryContext::Scope scope(*context_);
    void* made = nullptr;
    block.bytes = std::max<int64_t>(bytes, 4096);
    if (context_->api().MemAllocHost(&made, static_cast<size_t>(block.bytes)) != 0)
      return {new std::byte[static_cast<size_t>(bytes)], std::default_delete<std::byte[]>()};
    block.data = static_cast<std::byte*>(made);
  }
  return {block.data, [block, self = shared_from_this()](std::byte*) { self->Return(block); }};
}

void Copies::Return(const Block& block) {
  const std::lock_guard lock(mutex_);
  if (free_.size() < kMostFree)
    free_.push_back(block);
  else
    Free(block);
}

void Copies::Free(const Block& block) const {
  const PrimaryContext::Scope scope(*context_);
  context_->api().MemFreeHost(block.data);
}

}  // namespace fettle::cuda
