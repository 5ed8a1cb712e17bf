#include "device/opencl/compile_workers.h"

#include <algorithm>

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

Result<std::vector<std::byte>> CompileWorkers::Compile(const ProgramSource& source) {
  CompileWorker* worker = nullptr;
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !idle_.empty(); });
    worker = idle_.back();  // which has a process, if any has
    idle_.pop_back();
  }
  Result<std::vector<std::byte>> binary = worker->Compile(source);
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(worker);
  }
  returned_.notify_one();
  return binary;
}

std::shared_ptr<void> CompileElsewhere(const Device* accelerator, std::vector<std::string> command,
                                       double limit_seconds, int at_once,
                                       const std::atomic<bool>* cancelled) {
  if (dynamic_cast<const OpenClDevice*>(accelerator) == nullptr) return nullptr;
  const auto workers = std::make_shared<CompileWorkers>(command, accelerator->fingerprint(),
                                                        limit_seconds, at_once, cancelled);
  SetProgramCompiler([workers, device = std::string(accelerator->fingerprint())](
                         const ProgramSource& source,
                         std::string_view fingerprint) -> Result<std::vector<std::byte>> {
    if (fingerprint != device) return std::vector<std::byte>();
    return workers->Compile(source);
  });
  SetCompilesAtOnce(at_once);
  return std::shared_ptr<void>(nullptr, [](void*) {
    SetCompilesAtOnce(0);
    SetProgramCompiler(nullptr);
  });
}

int ServeCompiles(const Device& accelerator) {
  const auto* device = dynamic_cast<const OpenClDevice*>(&accelerator);
  if (device == nullptr) return 1;
  OpenClPrograms& programs = device->programs();
  return ServeCompiles(STDIN_FILENO, device->fingerprint(),
                       [&](const ProgramSource& source) -> Result<std::vector<std::byte>> {
                         ASSIGN_OR_RETURN(const auto program, programs.Get(source));
                         return program->Binary();
                       });
}

}  // namespace fettle
