#include "device/opencl/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fettle {
namespace {

/// What a thread copies at least, and how many copy: with four the host is as fast as a bus of 54
/// GB/s, and others want to compute.
constexpr int64_t kLeastShare = int64_t{1} << 19;
constexpr int64_t kMostThreads = 4;

}  // namespace

OpenClStaging::~OpenClStaging() {
  for (Slot& slot : slots_) WaitFor(slot);
}

bool OpenClStaging::Reserve(int64_t bytes) {
  const int64_t size = std::min(bytes, kPiece);
  for (int64_t begin = 0; has_pinned_ && begin < std::min(bytes, kPiece * kSlots);
       begin += kPiece) {
    Slot& slot = SlotOf(begin);
    if (slot.bytes >= size) continue;
    WaitFor(slot);
    slot = {.memory = device_.AllocateForTransfers(size), .bytes = size};
    has_pinned_ = slot.memory != nullptr;
  }
  return has_pinned_;
}

cl_int OpenClStaging::WaitFor(Slot& slot) const {
  const cl_event event = std::exchange(slot.under_way, nullptr);
  if (event == nullptr) return CL_SUCCESS;
  const cl_int code = device_.api().WaitForEvents(1, &event);
  device_.api().ReleaseEvent(event);
  return code;
}

void OpenClStaging::Copy(std::byte* to, const std::byte* from, int64_t bytes) const {
  const int64_t shares = std::min(bytes / kLeastShare, kMostThreads);
  if (share_out_ == nullptr || shares < 2) {
    std::memcpy(to, from, bytes);
    return;
  }
  share_out_(shares, [&](int64_t share) {
    const int64_t begin = bytes * share / shares, end = bytes * (share + 1) / shares;
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

cl_int OpenClStaging::Write(cl_mem to, int64_t offset, const std::byte* from, int64_t bytes) {
  const OpenClApi& api = device_.api();
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    const int64_t size = std::min(kPiece, bytes - begin);
    Slot& slot = SlotOf(begin);
    cl_int code = WaitFor(slot);
    if (code != CL_SUCCESS) return code;
    Copy(slot.memory.get(), from + begin, size);
    code = api.EnqueueWriteBuffer(queue_, to, CL_FALSE, offset + begin, size, slot.memory.get(), 0,
                                  nullptr, &slot.under_way);
    if (code != CL_SUCCESS) return code;
    api.Flush(queue_);  // it travels while the host copies on
  }
  return CL_SUCCESS;
}

cl_int OpenClStaging::Read(std::byte* to, cl_mem from, int64_t offset, int64_t bytes) {
  const OpenClApi& api = device_.api();
  int64_t asked = 0;
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    for (; asked < bytes && asked < begin + kPiece * kSlots; asked += kPiece) {
      Slot& slot = SlotOf(asked);
      cl_int code = WaitFor(slot);
      if (code != CL_SUCCESS) return code;
      code = api.EnqueueReadBuffer(queue_, from, CL_FALSE, offset + asked,
                                   std::min(kPiece, bytes - asked), slot.memory.get(), 0, nullptr,
                                   &slot.under_way);
      if (code != CL_SUCCESS) return code;
      api.Flush(queue_);
    }
    Slot& slot = SlotOf(begin);
    if (const cl_int code = WaitFor(slot); code != CL_SUCCESS) return code;
    Copy(to + begin, slot.memory.get(), std::min(kPiece, bytes - begin));
  }
  return CL_SUCCESS;
}

}  // namespace fettle
