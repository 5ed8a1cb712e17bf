// An OpenCL device: a context, its programs and its memory.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/opencl/facts.h"
#include "device/opencl/kernel_arg.h"
#include "device/opencl/launch_pace.h"
#include "device/opencl/mapped_regions.h"
#include "device/opencl/pinned.h"
#include "device/opencl/programs.h"
#include "device/opencl/upload_queue.h"

namespace fettle {

class LaunchGraphs;

/// A buffer or image: base() is its cl_mem. Keeps its device's context alive. Thread-safe.
class OpenClMemory final : public DeviceMemory {
 public:
  /// `svm`: the shared virtual memory that the buffer lies in, null where there is none; the buffer
  /// owns it.
  OpenClMemory(const MemoryRequest& request, const OpenClApi& api, cl_mem memory,
               std::shared_ptr<void> context, std::byte* svm = nullptr, bool svm_is_fine = false)
      : DeviceMemory(request),
        api_(api),
        memory_(memory),
        context_(std::move(context)),
        svm_(svm),
        svm_is_fine_(svm_is_fine) {}
  /// Of `bytes` of the host, which it reads in place.
  OpenClMemory(const MemoryRequest& request, const OpenClApi& api, cl_mem memory,
               std::shared_ptr<void> context, std::shared_ptr<const std::byte> bytes)
      : OpenClMemory(request, api, memory, std::move(context)) {
    bytes_ = std::move(bytes);
  }
  ~OpenClMemory() override {
    released_.fetch_add(1);
    api_.ReleaseMemObject(memory_);
  }
  /// How many there were and are no more.
  static uint64_t released() { return released_.load(); }
  void* base() const override { return memory_; }
  cl_mem get() const { return memory_; }
  std::byte* svm() const { return svm_; }
  bool svm_is_fine() const { return svm_is_fine_; }
  std::byte* shared() const override { return svm_is_fine_ ? svm_ : nullptr; }

 private:
  static inline std::atomic<uint64_t> released_ = 0;

  const OpenClApi& api_;
  cl_mem memory_;
  std::shared_ptr<void> context_;
  std::byte* svm_;
  bool svm_is_fine_;
  std::shared_ptr<const std::byte> bytes_;
};

/// A function of a built program. Arguments of a cl_kernel are state of the object, so whoever sets
/// them and enqueues holds `mutex` meanwhile (OpenClStream does).
class OpenClKernel {
 public:
  /// `facts`: of its device, which outlives it; `function`: its name; `most_items`:
  /// CL_KERNEL_WORK_GROUP_SIZE, 0 where the driver does not say.
  OpenClKernel(const OpenClApi& api, const OpenClFacts& facts, cl_kernel kernel,
               std::shared_ptr<OpenClProgram> program, std::string function, size_t most_items);
  ~OpenClKernel();
  OpenClKernel(const OpenClKernel&) = delete;
  OpenClKernel& operator=(const OpenClKernel&) = delete;
  cl_kernel get() const { return kernel_; }
  OpenClProgram& program() const { return *program_; }
  const std::string& function() const { return function_; }
  const OpenClFacts& facts() const { return facts_; }
  /// Work-items that a work-group of it may have; 0: nobody said.
  size_t most_items() const { return most_items_.load(std::memory_order_relaxed); }
  /// Remembers that work-groups of more were refused.
  void Bound(size_t items) const { most_items_.store(items, std::memory_order_relaxed); }
  std::mutex& mutex() const { return mutex_; }
  /// Needs `mutex`.
  SetArgs& set_args() const { return set_args_; }
  /// The pace of launches that `sizes` (a hash of work sizes and scalar arguments) stands for.
  /// Needs `mutex`.
  std::shared_ptr<LaunchPace> PaceOf(uint64_t sizes) const;

 private:
  const OpenClApi& api_;
  const OpenClFacts& facts_;
  cl_kernel kernel_;
  std::shared_ptr<OpenClProgram> program_;
  std::string function_;
  mutable std::atomic<size_t> most_items_;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, std::shared_ptr<LaunchPace>> paces_;  // guarded by mutex_
  mutable SetArgs set_args_;                                       // guarded by mutex_
};

/// What a device is opened with beside its choice.
struct OpenClOptions {
  SharedVirtualMemory svm = SharedVirtualMemory::kOff;
  /// Where programs are kept; null: nowhere.
  std::shared_ptr<ProgramCache> cache;
  /// How its streams leave it to others where they have no options of their own: also those that
  /// measure.
  StreamOptions pacing;
  /// Computes as if there was cl_khr_fp16, by rounding f32: for tests where there is none.
  bool emulate_fp16 = false;
  /// Computes as if there were instructions for matrices (MmaFacts), by emulation: for tests.
  bool emulate_mma = false;
  /// Takes memory that it shares with the host for its own (OpenClFacts::unified_memory): for tests
  /// of what goes between two memories.
  bool own_memory = false;
  /// Its programs are handed to other processes.
  bool only_compiles = false;
  /// Another driver than the loader's, for tests of faults; outlives the device.
  const OpenClApi* api = nullptr;
};

/// Thread-safe. The context lives as long as the device or anything made from it.
class OpenClDevice final : public Device, public std::enable_shared_from_this<OpenClDevice> {
 public:
  /// Opens the device that `choice` names: "" (the first GPU, else the first device),
  /// "PLATFORM" or "PLATFORM:DEVICE", each an index or a part of the name, case ignored.
  /// kDeviceUnavailable with the devices there are; kUnsupported where it has no such shared
  /// memory.
  static Result<std::shared_ptr<OpenClDevice>> Open(std::string_view choice = {},
                                                    const OpenClOptions& options = {});
  static Result<std::shared_ptr<OpenClDevice>> Open(const OpenClListing& listing,
                                                    const OpenClOptions& options = {});

  ~OpenClDevice() override;
  DeviceKind kind() const override { return DeviceKind::kOpenCl; }
  std::string_view name() const override { return facts_.name; }
  std::string_view fingerprint() const override { return fingerprint_; }
  const OpenClFacts& facts() const { return facts_; }
  /// What was found out by running programs. Before anybody else has the device.
  void Learn(const MmaFacts& mma) { facts_.mma = mma; }
  const OpenClApi& api() const { return *api_; }
  cl_context context() const { return static_cast<cl_context>(context_.get()); }
  cl_device_id id() const { return id_; }
  /// What lives as long as whatever was made from the device.
  const std::shared_ptr<void>& shared_context() const { return context_; }
  /// What replays its launches; null where nothing does. Tried once, when it is first asked for.
  std::shared_ptr<LaunchGraphs> graphs() const;

  Result<std::shared_ptr<DeviceMemory>> Allocate(const MemoryRequest& request) const override;
  Result<std::unique_ptr<Stream>> NewStream(const StreamOptions& options) const override;
  Result<std::shared_ptr<DeviceMemory>> Upload(const std::shared_ptr<const std::byte>& data,
                                               int64_t bytes) const override;
  /// Null where the device has no memory of its own: its buffers are mapped there.
  std::shared_ptr<std::byte> AllocateForTransfers(int64_t bytes) const override {
    return facts_.unified_memory ? nullptr : pinned_->Allocate(bytes);
  }
  /// Whether all of these bytes are of one AllocateForTransfers.
  bool IsPinned(const void* data, int64_t bytes) const { return pinned_->Holds(data, bytes); }
  Status CheckLimits(const MemoryRequest& request) const override;
  bool computes_f16() const override { return facts_.fp16_compute; }
  bool replays_launches() const override { return graphs() != nullptr; }
  std::vector<ProgramBinary> ExportPrograms() const override;
  void ImportPrograms(std::vector<ProgramBinary> binaries) const override;
  ProgramStatistics program_statistics() const override { return programs_->statistics(); }
  /// `buffer` read as RGBA pixels of `storage`: a one-dimensional image over its first `pixels`.
  Result<std::shared_ptr<DeviceMemory>> ViewAsImage1d(const DeviceMemory& buffer, int64_t pixels,
                                                      DType storage) const;

  /// Builds a program (once per device: equal sources share it), or takes its binary from the
  /// cache, and makes its function `kernel`. kBuildFailed with the compiler's log, or where the
  /// program took two processes down.
  Result<std::shared_ptr<OpenClKernel>> BuildKernel(const ProgramSource& source,
                                                    const std::string& kernel) const;
  /// Whether work-groups of one launch, one for each compute unit, can wait for each other (a chain
  /// of launches, launch_chain.h): tried once, when it is first asked.
  Status CheckChains() const;
  Status ChainsMayPay() const override;
  const StreamOptions& pacing() const { return pacing_; }
  /// The launches of streams with a cap on them (StreamOptions::kernel_ms), once they are finished
  /// and their stream went on or was waited for.
  LaunchTally& tally() const { return tally_; }
  /// What the host has mapped of this device's memory.
  MappedRegions& mapped() const { return mapped_; }
  /// The programs of this device: their statistics, export and import.
  OpenClPrograms& programs() const { return *programs_; }

 private:
  OpenClDevice();
  Result<std::shared_ptr<DeviceMemory>> MakeImage(const MemoryRequest& request,
                                                  const cl_image_desc& desc,
                                                  cl_mem_flags flags) const;
  Result<std::shared_ptr<DeviceMemory>> MakeSharedBuffer(const MemoryRequest& request) const;
  /// In memory that launch graphs reach.
  Result<std::shared_ptr<DeviceMemory>> MakeGraphBuffer(const MemoryRequest& request) const;
  /// Memory that maps without a copy where host and device share theirs.
  cl_mem_flags Flags() const {
    return CL_MEM_READ_WRITE | (facts_.unified_memory ? CL_MEM_ALLOC_HOST_PTR : 0);
  }

  const OpenClApi* api_ = nullptr;
  cl_device_id id_ = nullptr;
  OpenClFacts facts_;
  std::string fingerprint_;
  std::shared_ptr<void> context_;
  SharedVirtualMemory svm_ = SharedVirtualMemory::kOff;
  StreamOptions pacing_;
  mutable MappedRegions mapped_;
  mutable LaunchTally tally_;
  mutable std::once_flag graphs_tried_;
  mutable std::shared_ptr<LaunchGraphs> graphs_;
  mutable std::once_flag chains_tried_;
  mutable Status chains_;
  std::unique_ptr<OpenClPrograms> programs_;
  std::unique_ptr<UploadQueue> uploads_;
  std::shared_ptr<PinnedPool> pinned_;
};

/// The device's row of `listings` that `choice` names; kDeviceUnavailable with what there is.
Result<const OpenClListing*> ChooseOpenClDevice(std::span<const OpenClListing> listings,
                                                std::string_view choice);

}  // namespace fettle
