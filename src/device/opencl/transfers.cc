// What a stream carries between the host and the memory of its device: by maps where that is the
// host's own, by copies elsewhere.
#include <cstring>

#include "base/memory_marks.h"
#include "device/opencl/opencl_stream.h"
#include "device/opencl/pinned_copies.h"

namespace fettle {
namespace {

bool IsImage(const DeviceMemory& memory) {
  return memory.request().kind == MemoryKind::kImage2d ||
         memory.request().kind == MemoryKind::kImage1d;
}

/// The rows of an image that `bytes` fill: {width, height, 1}.
std::array<size_t, 3> RegionOf(const MemoryRequest& image, int64_t bytes) {
  const int64_t row = StorageBytes(image.storage, image.width * 4);
  std::array<size_t, 3> region{0, 0, 1};
  region[0] = image.width;
  region[1] = bytes / row;
  return region;
}

constexpr size_t kOrigin[3] = {0, 0, 0};

}  // namespace

Status OpenClStream::ThroughMap(const Location& at, int64_t bytes, cl_map_flags flags,
                                std::string_view what,
                                const std::function<void(std::byte* there)>& transfer) {
  const OpenClApi& api = device_->api();
  auto* const memory = static_cast<cl_mem>(at.base);
  cl_int code = CL_SUCCESS;
  void* there = nullptr;
  Waited([&] {
    there = api.EnqueueMapBuffer(queue_, memory, CL_TRUE, flags, at.offset, bytes, 0, nullptr,
                                 nullptr, &code);
    return code;
  });
  RETURN_IF_ERROR(OpenClStatus(code, what));
  ++transfers_.maps;
  transfer(static_cast<std::byte*>(there));
  cl_event unmapped = nullptr;
  const bool has_event = options_.queue_window > 0;
  RETURN_IF_ERROR(OpenClStatus(
      api.EnqueueUnmapMemObject(queue_, memory, there, 0, nullptr, has_event ? &unmapped : nullptr),
      what));
  return has_event ? WaitForWindow(Own(unmapped)) : OkStatus();
}

Status OpenClStream::FinishTransfer(cl_int code, cl_event event, std::string_view what) {
  if (event != nullptr) timed_.push_back(Own(event));
  return OpenClStatus(code, what);
}

/// Pieces are commands that nobody waits for, which a window would have to count.
Staging* OpenClStream::StagingFor(int64_t bytes) {
  if (options_.queue_window > 0) return nullptr;
  if (staging_ == nullptr)
    staging_ = std::make_unique<Staging>(std::make_unique<OpenClPinnedCopies>(*device_, queue_),
                                         options_.share_out);
  return staging_->Reserve(bytes) ? staging_.get() : nullptr;
}

/// A call that waits lets no other thread into some drivers meanwhile: those of NVIDIA.
Status OpenClStream::FinishPinned(cl_int code, cl_event event, std::string_view what) {
  RETURN_IF_ERROR(OpenClStatus(code, what));
  const OpenClEvent owned = Own(event);
  if (options_.timed) timed_.push_back(owned);
  const Status status = Wait(owned);
  if (!status.ok()) device_->api().Finish(queue_);  // the caller's memory is his again
  return status;
}

template <typename ByDriver, typename ByPieces>
Status OpenClStream::CrossMemories(const void* host, int64_t bytes, std::string_view what,
                                   const ByDriver& enqueue, const ByPieces& stage) {
  CountCopy(bytes);
  cl_event event = nullptr;
  if (device_->IsPinned(host, bytes)) {
    const cl_int code = enqueue(CL_FALSE, &event);
    return FinishPinned(code, event, what);
  }
  if (Staging* const staging = StagingFor(bytes)) {
    const int64_t begin = NowNs();
    const Status status = stage(*staging);
    waited_ns_ += NowNs() - begin;
    return status;
  }
  const cl_int code = Waited([&] { return enqueue(CL_TRUE, EventOfTransfer(event)); });
  return FinishTransfer(code, event, what);
}

Status OpenClStream::WriteBuffer(const Location& to, const void* from, int64_t bytes) {
  constexpr std::string_view kWhat = "OpenCL: writing a buffer";
  RETURN_IF_ERROR(CheckMayTransfer());
  if (bytes == 0) return OkStatus();
  ASSIGN_OR_RETURN(const bool written, WriteBesideGraphs(to, from, bytes));
  if (written) return OkStatus();
  RETURN_IF_ERROR(TakeTurn());
  if (device_->facts().unified_memory)
    return ThroughMap(to, bytes, CL_MAP_WRITE_INVALIDATE_REGION, kWhat,
                      [&](std::byte* there) { std::memcpy(there, from, bytes); });
  auto* const memory = static_cast<cl_mem>(to.base);
  return CrossMemories(
      from, bytes, kWhat,
      [&](cl_bool waits, cl_event* made) {
        return device_->api().EnqueueWriteBuffer(queue_, memory, waits, to.offset, bytes, from, 0,
                                                 nullptr, made);
      },
      [&](Staging& staging) {
        return staging.Write(to, static_cast<const std::byte*>(from), bytes);
      });
}

Status OpenClStream::ReadBuffer(void* to, const Location& from, int64_t bytes) {
  constexpr std::string_view kWhat = "OpenCL: reading a buffer";
  RETURN_IF_ERROR(CheckMayTransfer());
  if (bytes == 0) return OkStatus();
  ASSIGN_OR_RETURN(const bool is_read, ReadBesideGraphs(to, from, bytes));
  if (is_read) return OkStatus();
  RETURN_IF_ERROR(TakeTurn());
  if (device_->facts().unified_memory)
    return ThroughMap(from, bytes, CL_MAP_READ, kWhat,
                      [&](const std::byte* there) { std::memcpy(to, there, bytes); });
  auto* const memory = static_cast<cl_mem>(from.base);
  return CrossMemories(
      to, bytes, kWhat,
      [&](cl_bool waits, cl_event* made) {
        return device_->api().EnqueueReadBuffer(queue_, memory, waits, from.offset, bytes, to, 0,
                                                nullptr, made);
      },
      [&](Staging& staging) { return staging.Read(static_cast<std::byte*>(to), from, bytes); });
}

Status OpenClStream::Write(const DeviceMemory& to, int64_t offset, const void* from,
                           int64_t bytes) {
  if (!IsImage(to)) return WriteBuffer(to.location(offset), from, bytes);
  RETURN_IF_ERROR(CheckMayTransfer());
  if (bytes == 0) return OkStatus();
  RETURN_IF_ERROR(TakeTurn());
  CountCopy(bytes);
  cl_event event = nullptr;
  const cl_int code = Waited([&] {
    return device_->api().EnqueueWriteImage(queue_, static_cast<cl_mem>(to.base()), CL_TRUE,
                                            kOrigin, RegionOf(to.request(), bytes).data(), 0, 0,
                                            from, 0, nullptr, EventOfTransfer(event));
  });
  return FinishTransfer(code, event, "OpenCL: writing an image");
}

Status OpenClStream::Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) {
  if (!IsImage(from)) return ReadBuffer(to, from.location(offset), bytes);
  RETURN_IF_ERROR(CheckMayTransfer());
  if (bytes == 0) return OkStatus();
  RETURN_IF_ERROR(TakeTurn());
  CountCopy(bytes);
  cl_event event = nullptr;
  const cl_int code = Waited([&] {
    return device_->api().EnqueueReadImage(queue_, static_cast<cl_mem>(from.base()), CL_TRUE,
                                           kOrigin, RegionOf(from.request(), bytes).data(), 0, 0,
                                           to, 0, nullptr, EventOfTransfer(event));
  });
  return FinishTransfer(code, event, "OpenCL: reading an image");
}

Status OpenClStream::MarkFresh(const DeviceMemory& memory, int64_t offset, int64_t bytes) {
  constexpr std::string_view kWhat = "OpenCL: marking memory";
  RETURN_IF_ERROR(TakeTurn());
  const OpenClApi& api = device_->api();
  auto* const object = static_cast<cl_mem>(memory.base());
  if (!IsImage(memory)) {
    if (bytes == 0) return OkStatus();
    alignas(8) std::byte fill{};
    marks::Fresh(&fill, 1);
    return OpenClStatus(
        api.EnqueueFillBuffer(queue_, object, &fill, 1, offset, bytes, 0, nullptr, nullptr), kWhat);
  }
  const MemoryRequest& image = memory.request();
  const int64_t whole = StorageBytes(image.storage, image.width * image.height * 4);
  std::vector<std::byte> fresh(whole);
  marks::Fresh(fresh.data(), whole);
  return OpenClStatus(
      api.EnqueueWriteImage(queue_, object, CL_TRUE, kOrigin, RegionOf(image, whole).data(), 0, 0,
                            fresh.data(), 0, nullptr, nullptr),
      kWhat);
}

}  // namespace fettle
