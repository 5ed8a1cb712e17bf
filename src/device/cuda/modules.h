// Programs as NVIDIA's CUDA driver has them, and their launches.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/primary_context.h"

namespace fettle::cuda {

/// One launch. Views live while it is enqueued.
struct Launch {
  std::string_view program;  // its name among programs
  std::string_view function;
  std::function<std::vector<std::byte>()> ptx;  // asked for where the program is new
  std::array<unsigned, 3> groups{1, 1, 1}, items{1, 1, 1};
  std::vector<std::array<std::byte, 64>> parameters;  // each begins with its bytes
};

/// The programs of one device. Thread-safe.
class Modules {
 public:
  explicit Modules(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)) {}
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  /// Compiles the programs of `launches` that are new, several at a time. kUnsupported for what
  /// ModuleTextOf does not take, kDeviceError.
  Status Load(std::span<const Launch> launches);
  /// Enqueues a launch of a loaded program, in the thread's context, which is context().
  Status Enqueue(const Launch& launch, Stream stream);

  const PrimaryContext& context() const { return *context_; }
  const Api& api() const { return context_->api(); }
  Status Check(Result code, std::string_view what) const { return StatusOf(api(), code, what); }

 private:
  struct Entry {
    Function function = nullptr;
    unsigned dynamic_bytes = 0;
  };
  struct Program {
    Module module = nullptr;
    std::map<std::string, int64_t, std::less<>> dynamic_bytes;
    std::map<std::string, Entry, std::less<>> entries;  // that were launched
  };
  fettle::Result<Program> Compile(const Launch& launch) const;
  fettle::Result<Entry> EntryOf(const Launch& launch);

  std::shared_ptr<PrimaryContext> context_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Program, std::less<>> programs_;
};

}  // namespace fettle::cuda
