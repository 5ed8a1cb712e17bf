// Memory that OpenCL and CUDA see at once: made by CUDA, imported by OpenCL.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "device/cuda/memory.h"
#include "device/opencl/api.h"

namespace fettle {

/// Buffers in whole pages of the device. Small buffers share them, and no place is used twice.
/// Thread-safe.
class SharedBlocks : public std::enable_shared_from_this<SharedBlocks> {
 public:
  /// `context` is an OpenCL context of the same device; `alignment`: of buffers, in bytes.
  SharedBlocks(const OpenClApi& opencl, std::shared_ptr<void> context,
               std::shared_ptr<cuda::PrimaryContext> cuda, int64_t alignment)
      : opencl_(opencl),
        context_(std::move(context)),
        cuda_(std::move(cuda)),
        alignment_(alignment) {}

  struct Buffer {
    cl_mem memory = nullptr;      // the caller releases it
    std::shared_ptr<void> owner;  // of what lies behind it; lives longer than `memory`
  };
  /// kOutOfMemory where the device has no more, kDeviceError.
  Result<Buffer> Allocate(int64_t bytes);
  /// Where CUDA finds a buffer of Allocate; nothing for other memory objects.
  std::optional<cuda::Address> AddressOf(cl_mem memory) const;

 private:
  class Block;
  struct Place {
    cuda::Address address = 0;
    uint64_t id = 0;
  };
  Result<std::shared_ptr<Block>> MakeBlock(int64_t bytes) const;
  Result<Buffer> Part(int64_t bytes);
  Buffer Hand(cl_mem memory, cuda::Address address, std::shared_ptr<Block> block);

  const OpenClApi& opencl_;
  std::shared_ptr<void> context_;
  std::shared_ptr<cuda::PrimaryContext> cuda_;
  int64_t alignment_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<cl_mem, Place> places_;
  std::shared_ptr<Block> block_;  // of small buffers
  int64_t used_ = 0;              // of it
  uint64_t next_id_ = 0;
};

}  // namespace fettle
