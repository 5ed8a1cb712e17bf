// Devices and streams as the layers above see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/subnormals.h"
#include "device/launch_chain.h"
#include "tensor/state.h"

namespace fettle {

/// Where an operand's bytes are: a host pointer, or a device object and a byte offset into it.
struct Location {
  void* base = nullptr;
  int64_t offset = 0;

  template <typename T>
  T* host() const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
  }
};

/// What memory to allocate: `bytes` of host memory or of a buffer, or an image of RGBA pixels of
/// `storage`, `width` x `height` of them (image1d: `width`).
struct MemoryRequest {
  MemoryKind kind = MemoryKind::kHost;
  int64_t bytes = 0;
  int64_t width = 0, height = 0;
  DType storage = DType::kF32;
  bool operator==(const MemoryRequest&) const = default;
};

/// What holds a tensor of `shape` in `state`. An image has the layout's leading image_y_dims
/// physical dimensions as its height and the others as its width, four innermost lanes apart.
MemoryRequest RequestFor(const Shape& shape, const State& state);

/// Memory of a device, released with its last owner. `location(n)` is what kernels take.
class DeviceMemory {
 public:
  explicit DeviceMemory(const MemoryRequest& request) : request_(request) {}
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  const MemoryRequest& request() const { return request_; }
  virtual void* base() const = 0;
  /// Where the host may read and write at any time while nothing runs; null where it has to map.
  virtual std::byte* shared() const { return nullptr; }
  Location location(int64_t offset = 0) const { return {base(), offset}; }

 private:
  MemoryRequest request_;
};

/// What went between host and device. Where they share their memory the host reads and writes
/// buffers itself.
struct Transfers {
  int64_t copies = 0, copied_bytes = 0;  // by the device, maps of separate memories among them
  int64_t maps = 0, conversions = 0;
};

class MappedTensor;
struct DeviceTensor;
struct HostForm;
enum class MapAccess : uint8_t;

/// An in-order queue of work on one device. Launches enqueue and never wait; the CPU's runs at
/// once. Belongs to one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  /// How the CPU's kernels compute: who launches them holds a SubnormalScope of it.
  Subnormals subnormals() const { return subnormals_; }
  /// Copies `bytes` of the host into `to` at `offset`, after what is enqueued; the host's bytes
  /// are read when it returns. An image takes its first rows, without gaps between them.
  virtual Status Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) = 0;
  /// The reverse; waits until the bytes are there.
  virtual Status Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) = 0;
  /// The tensor in the host's hands (mapped_tensor.h), after what is enqueued. What is mapped to be
  /// written alone starts with undefined contents, all of which are to be written. kBusy where part
  /// of the tensor is mapped already, kOutOfMemory, kDeviceError. By copies (Read, Write) where a
  /// device has no way of its own.
  virtual Result<std::unique_ptr<MappedTensor>> Map(const DeviceTensor& tensor,
                                                    const HostForm& host, MapAccess access);
  /// Waits until all that was enqueued has finished; reports what failed since the last call.
  virtual Status Synchronise() = 0;
  /// How long calls have waited for the device, in all.
  virtual int64_t waited_ns() const { return 0; }
  /// How long the device worked, by its own clock, on what was enqueued since the last call, all of
  /// which has finished; negative where it does not say (StreamOptions::timed).
  virtual int64_t TakeBusyNs() { return -1; }
  /// What `launches` enqueues, which is launches alone and nothing of it now, as one of `groups`
  /// work-groups, which have to be on the device all at once. kUnsupported with the reason where
  /// that cannot be, kBuildFailed, kDeviceError.
  virtual Result<std::unique_ptr<LaunchChain>> MakeChain(const std::function<Status()>&, int) {
    return Error(StatusCode::kUnsupported, "chains of launches: not on this device");
  }
  /// Whether MakeGraph is worth asking for now.
  virtual bool replays() const { return false; }
  /// What `launches` enqueues, which is launches alone and nothing of it now, to be enqueued as one
  /// command that the driver replays. kUnsupported with the reason where that cannot be,
  /// kDeviceError.
  virtual Result<std::unique_ptr<LaunchChain>> MakeGraph(const std::function<Status()>&) {
    return Error(StatusCode::kUnsupported, "graphs of launches: not on this device");
  }
  /// Whether the work-groups of each chain so far, all of which have finished, were there at once.
  /// Where they were not, what was enqueued since has computed nothing of worth.
  virtual Result<bool> ChainsMet() { return true; }
  /// Of what was enqueued since the last call (StreamOptions::timed).
  virtual LaunchForm TakeForm() { return {}; }
  /// Since the stream was made.
  virtual Transfers transfers() const { return {}; }

 protected:
  explicit Stream(Subnormals subnormals = Subnormals::kFlush) : subnormals_(subnormals) {}
  Stream(const Stream&) = default;
  Stream& operator=(const Stream&) = default;

 private:
  Subnormals subnormals_;
};

/// Calls task(i) for every i in [0, tasks), at the same time where threads are to be had, and
/// returns when all have ended.
using ShareOut = std::function<void(int64_t tasks, const std::function<void(int64_t)>& task)>;

/// How a stream leaves the device to others.
struct StreamOptions {
  int threads = 1;                             // of the CPU
  Subnormals subnormals = Subnormals::kFlush;  // of the CPU
  /// At most so many commands unfinished at a time; 0: no limit. Devices beside the CPU.
  int queue_window = 0;
  /// No launch lasts longer in milliseconds, its last global axis is split; 0: no limit.
  double kernel_ms = 0;
  /// Commands are timed by the device (TakeBusyNs).
  bool timed = false;
  /// By which the host's threads help with what it copies for a transfer; null: none do.
  ShareOut share_out;
};

/// Buffers in memory that host and device address alike: handed over by mapping, or shared always.
enum class SharedVirtualMemory : unsigned char { kOff, kCoarse, kFine };

/// What a device beside the CPU is opened with.
struct OpenOptions {
  /// Where built programs are kept: a folder, "" for the user's; null: nowhere.
  const char* programs = nullptr;
  /// Holds for all streams that have no options of their own, also those that tuning measures on.
  StreamOptions pacing;
  /// Off, with a warning, where the device has no such memory.
  SharedVirtualMemory svm = SharedVirtualMemory::kOff;
};

/// What a program was built into, by its key: what a package carries.
struct ProgramBinary {
  std::string key;
  std::vector<std::byte> bytes;
};

/// What became of the programs that were asked for.
struct ProgramStatistics {
  int64_t built = 0, from_cache = 0, from_package = 0, failed = 0;
  double build_seconds = 0, load_seconds = 0;  // of those built; of those taken as binaries
};

/// A device. Immutable after creation, thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string_view name() const = 0;
  /// Text that changes whenever timings may: model, instruction sets, caches, driver.
  virtual std::string_view fingerprint() const = 0;
  /// Memory with undefined contents. kOutOfMemory, or kUnsupported naming the limit that an image
  /// passes.
  virtual Result<std::shared_ptr<DeviceMemory>> Allocate(const MemoryRequest& request) const = 0;
  /// A buffer for kernels to read that holds `bytes` bytes of `data`, which live as long as it does
  /// (it may be made of them).
  virtual Result<std::shared_ptr<DeviceMemory>> Upload(const std::shared_ptr<const std::byte>& data,
                                                       int64_t bytes) const;
  /// Memory of the host that transfers from and to the device take less time with; null where there
  /// is none better than AllocateHost's.
  virtual std::shared_ptr<std::byte> AllocateForTransfers(int64_t /*bytes*/) const {
    return nullptr;
  }
  /// OK, or why there can be no such memory: the limit of the device that it passes.
  virtual Status CheckLimits(const MemoryRequest&) const { return OkStatus(); }
  virtual Result<std::unique_ptr<Stream>> NewStream(const StreamOptions& options) const = 0;
  /// Whether kernels may compute in f16 (kernels::Arithmetic::kF16).
  virtual bool computes_f16() const { return false; }
  /// Whether the driver replays the launches of a run (Stream::MakeGraph), which it can of those
  /// that have their operands in buffers alone.
  virtual bool replays_launches() const { return false; }
  /// Whether several launches may take less time as one (Stream::MakeChain): OK, or why not.
  virtual Status ChainsMayPay() const {
    return Error(StatusCode::kUnsupported, "chains of launches: not on this device");
  }
  /// The programs that were built for kernels of this device, where it builds any: as binaries,
  /// taken from a package before anything else is tried (those of another driver have other keys),
  /// and counted.
  virtual std::vector<ProgramBinary> ExportPrograms() const { return {}; }
  virtual void ImportPrograms(std::vector<ProgramBinary>) const {}
  virtual ProgramStatistics program_statistics() const { return {}; }
};

/// The devices that a plan may use, at most one of each kind: the CPU always, and first. A value;
/// the devices outlive it.
class DeviceSet {
 public:
  DeviceSet(const Device& cpu) : devices_{&cpu} {}
  /// `beside` in the order of their preference before anything is measured; null ones count for
  /// nothing, nor do further ones of a kind.
  DeviceSet(const Device& cpu, std::span<const Device* const> beside);
  DeviceSet(const Device& cpu, const Device* beside) : DeviceSet(cpu, std::span(&beside, 1)) {}
  const Device& cpu() const { return *devices_[0]; }
  std::span<const Device* const> all() const { return devices_; }
  std::span<const Device* const> beside_cpu() const { return all().subspan(1); }
  /// The index in all() of the device of a kind; -1 where it is not there.
  int IndexOf(DeviceKind kind) const;
  /// The device of a kind; null where it is not there.
  const Device* Find(DeviceKind kind) const;
  /// Those of all devices.
  std::string fingerprint() const;

 private:
  std::vector<const Device*> devices_;
};

}  // namespace fettle
