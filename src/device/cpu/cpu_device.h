// The CPU as a device: instruction sets, caches, and its stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/cpu/thread_pool.h"
#include "device/device.h"
#include "device/mapped_tensor.h"

namespace fettle {

/// The properties of this machine's processor that matter. Sizes in bytes, 0 where unknown.
struct CpuInfo {
  std::string model;
  int cores = 1;
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  bool avx2 = false, fma = false, avx512 = false, avx512_vnni = false, avx_vnni = false,
       avx512_bf16 = false;
  /// Not in fingerprints: these keep the keys of measurements from before the fields existed.
  bool avx512_vpopcntdq = false, avx512_vbmi = false;
  bool neon = false, dotprod = false, i8mm = false, fp16 = false;
};

/// Reads the machine once; with FETTLE_CPU_ISA=baseline|avx2|avx512 the features above that level
/// are hidden.
const CpuInfo& GetCpuInfo();

/// From now on treats the processor as another one: the CpuInfo that was returned before changes,
/// and so do the kernels that match. No kernel may run afterwards (kernels/cpu/simd/targets.h,
/// AssumeSimdTargets): for processes in which one thread plans and then ends.
void AssumeCpu(const CpuInfo& info);

class CpuDevice final : public Device {
 public:
  /// Shares `pool` with everyone who was given it.
  explicit CpuDevice(std::shared_ptr<ThreadPool> pool);
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  std::string_view name() const override { return info_.model; }
  std::string_view fingerprint() const override { return fingerprint_; }
  /// 64-byte aligned, with kTensorSlack zero bytes behind it.
  Result<std::shared_ptr<DeviceMemory>> Allocate(const MemoryRequest& request) const override;
  Result<std::unique_ptr<Stream>> NewStream(const StreamOptions& options) const override;
  const CpuInfo& info() const { return info_; }
  ThreadPool& pool() const { return *pool_; }

 private:
  const CpuInfo& info_;
  std::string fingerprint_;
  std::shared_ptr<ThreadPool> pool_;
};

/// Runs work on the pool, at once, on up to `threads` lanes.
class CpuStream final : public Stream {
 public:
  CpuStream(const CpuDevice& device, int threads, Subnormals subnormals = Subnormals::kFlush)
      : Stream(subnormals), device_(device), threads_(threads) {}
  Status Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) override;
  Status Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) override;
  Result<std::unique_ptr<MappedTensor>> Map(const DeviceTensor& tensor, const HostForm& host,
                                            MapAccess access) override;
  Status Synchronise() override { return OkStatus(); }
  int threads() const { return threads_; }
  void set_threads(int threads) { threads_ = threads; }
  void ParallelFor(int64_t tasks, FunctionRef<void(int64_t task, int lane)> task) {
    device_.pool().ParallelFor(tasks, threads_, task);
  }

 private:
  const CpuDevice& device_;
  int threads_;
};

/// By the threads of `pool`, which outlives it.
ShareOut ShareOutBy(ThreadPool& pool);

}  // namespace fettle
