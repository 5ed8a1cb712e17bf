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

/// What was copied between host and device. Where they share memory, the host reads and writes
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
  /// How the CPU's kernels treat subnormals: the launching thread holds a SubnormalScope of it.
  Subnormals subnormals() const { return subnormals_; }
  /// Copies `bytes` of the host into `to` at `offset`, after what is enqueued; the host's bytes
  /// are read when it returns. An image takes its first rows, without gaps between them.
  virtual Status Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) = 0;
  /// The reverse; waits until the bytes have arrived.
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
  /// How long the device worked, by its own clock, on everything that was enqueued since the last
  /// call and has finished; negative where the device does not say (StreamOptions::timed).
  virtual int64_t TakeBusyNs() { return -1; }
  /// Makes one launch of `groups` work-groups, all of which have to be on the device at once, out
  /// of the launches that `launches` enqueues. `launches` may enqueue launches only; they do not
  /// run now. kUnsupported with the reason where that is impossible, kBuildFailed, kDeviceError.
  virtual Result<std::unique_ptr<LaunchChain>> MakeChain(const std::function<Status()>&, int) {
    return Error(StatusCode::kUnsupported, "chains of launches: not on this device");
  }
  /// Whether MakeGraph is worth asking for now.
  virtual bool replays() const { return false; }
  /// Makes one command that the driver replays out of the launches that `launches` enqueues.
  /// `launches` may enqueue launches only; they do not run now. kUnsupported with the reason where
  /// that is impossible, kDeviceError.
  virtual Result<std::unique_ptr<LaunchChain>> MakeGraph(const std::function<Status()>&) {
    return Error(StatusCode::kUnsupported, "graphs of launches: not on this device");
  }
  /// Whether all work-groups of each chain so far were on the device at once; all chains have
  /// finished. If not, all results that were enqueued since are wrong.
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

/// Calls task(i) for every i in [0, tasks), in parallel where threads are free, and returns when
/// all have ended.
using ShareOut = std::function<void(int64_t tasks, const std::function<void(int64_t)>& task)>;

/// How a stream leaves the device to others.
struct StreamOptions {
  int threads = 1;                             // of the CPU
  Subnormals subnormals = Subnormals::kFlush;  // of the CPU
  /// At most this many unfinished commands at a time; 0: no limit. For devices beside the CPU.
  int queue_window = 0;
  /// The longest launch in milliseconds: a longer one is split along its last global axis; 0: no
  /// limit.
  double kernel_ms = 0;
  /// Commands are timed by the device (TakeBusyNs).
  bool timed = false;
  /// Threads of the host that help to copy a transfer's bytes; null: none help.
  ShareOut share_out;
};

/// Buffers in memory that host and device address alike: mapped to hand them over, or always
/// shared.
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

/// A built program, by its key: what a package carries.
struct ProgramBinary {
  std::string key;
  std::vector<std::byte> bytes;
};

/// How many of the requested programs were built, taken from a cache or refused.
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
  /// A buffer for kernels to read, with `bytes` bytes of `data`. `data` must live as long as the
  /// buffer, which may use it in place.
  virtual Result<std::shared_ptr<DeviceMemory>> Upload(const std::shared_ptr<const std::byte>& data,
                                                       int64_t bytes) const;
  /// Memory of the host from and to which the device transfers faster; null where none is faster
  /// than AllocateHost's.
  virtual std::shared_ptr<std::byte> AllocateForTransfers(int64_t /*bytes*/) const {
    return nullptr;
  }
  /// OK, or the device's limit that such memory would exceed.
  virtual Status CheckLimits(const MemoryRequest&) const { return OkStatus(); }
  virtual Result<std::unique_ptr<Stream>> NewStream(const StreamOptions& options) const = 0;
  /// Whether kernels may compute in f16 (kernels::Arithmetic::kF16).
  virtual bool computes_f16() const { return false; }
  /// Whether the driver replays the launches of a run (Stream::MakeGraph). Only launches whose
  /// operands are all in buffers can be replayed.
  virtual bool replays_launches() const { return false; }
  /// Whether several launches may take less time as one (Stream::MakeChain): OK, or why not.
  virtual Status ChainsMayPay() const {
    return Error(StatusCode::kUnsupported, "chains of launches: not on this device");
  }
  /// The programs that were built for kernels of this device, if it builds any: their binaries and
  /// counts. Binaries from a package are tried first; those of another driver have other keys.
  virtual std::vector<ProgramBinary> ExportPrograms() const { return {}; }
  virtual void ImportPrograms(std::vector<ProgramBinary>) const {}
  virtual ProgramStatistics program_statistics() const { return {}; }
};

/// The devices that a plan may use, at most one of each kind: the CPU always, and first. A value;
/// the devices outlive it.
class DeviceSet {
 public:
  DeviceSet(const Device& cpu) : devices_{&cpu} {}
  /// `beside` in the order of preference before anything is measured. Null ones and further ones of
  /// the same kind are ignored.
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
