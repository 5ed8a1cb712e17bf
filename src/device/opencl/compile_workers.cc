#include "device/opencl/compile_workers.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "device/compile_elsewhere.h"
#include "device/opencl/opencl_device.h"

namespace fettle {

CompileWorkers::CompileWorkers(const std::vector<std::string>& command,
                               std::string_view fingerprint, double limit_seconds, int at_once,
                               const std::atomic<bool>* cancelled) {
  for (int i = 0; i < std::max(at_once, 1); ++i) {
    workers_.push_back(
        std::make_unique<CompileWorker>(command, fingerprint, limit_seconds, cancelled));
    idle_.push_back(workers_.back().get());
  }
}

/// All at once: each takes a while to leave its driver.
CompileWorkers::~CompileWorkers() {
  for (const auto& worker : workers_) worker->Kill();
}

Result<std::vector<std::byte>> CompileWorkers::Compile(const ProgramSource& source) {
  CompileWorker* worker = nullptr;
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !idle_.empty(); });
    worker = idle_.back();  // which has a process, if any has
    idle_.pop_back();
  }
  Result<std::vector<std::byte>> binary = worker->Compile(source);
  if (binary.ok()) has_compiled_ = true;
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(worker);
  }
  returned_.notify_one();
  return binary;
}

namespace {

/// The thread that asked first.
class FirstThread {
 public:
  bool IsThis() {
    std::thread::id first;
    const std::thread::id own = std::this_thread::get_id();
    return id_.compare_exchange_strong(first, own) || first == own;
  }

 private:
  std::atomic<std::thread::id> id_{};
};

}  // namespace

std::shared_ptr<void> CompileOpenClElsewhere(const Device& device,
                                             const CompileProcesses& processes) {
  const auto workers = std::make_shared<CompileWorkers>(processes.command, device.fingerprint(),
                                                        processes.limit_seconds, processes.at_once,
                                                        processes.cancelled);
  const auto first = processes.first_here ? std::make_shared<FirstThread>() : nullptr;
  SetProgramCompiler([workers, first, own = std::string(device.fingerprint())](
                         const ProgramSource& source,
                         std::string_view fingerprint) -> Result<std::vector<std::byte>> {
    // Drivers that compile one program at a time make what others have compiled wait for this
    // process's turn, too.
    if (fingerprint != own || (first != nullptr && !workers->has_compiled() && first->IsThis()))
      return std::vector<std::byte>();
    return workers->Compile(source);
  });
  SetCompilesAtOnce(processes.at_once);
  return std::shared_ptr<void>(nullptr, [](void*) {
    SetCompilesAtOnce(0);
    SetProgramCompiler(nullptr);
  });
}

Result<int> ServeOpenClCompiles(std::string_view which) {
  ASSIGN_OR_RETURN(const std::shared_ptr<OpenClDevice> device, OpenClDevice::Open(which, {}));
  OpenClPrograms& programs = device->programs();
  return ServeCompiles(STDIN_FILENO, device->fingerprint(),
                       [&](const ProgramSource& source) -> Result<std::vector<std::byte>> {
                         ASSIGN_OR_RETURN(const auto program, programs.Get(source));
                         return program->Binary();
                       });
}

}  // namespace fettle
