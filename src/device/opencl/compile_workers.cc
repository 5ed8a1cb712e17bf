#include "device/opencl/compile_workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "device/compile_elsewhere.h"
#include "device/opencl/opencl_device.h"
#include "device/opencl/program/program_cache.h"

namespace fettle {
namespace {

/// Between two starts: somewhat more than a driver takes to open its device for one process, so
/// that this process finds it free, too.
constexpr int64_t kStartsApartNs = 150'000'000;

}  // namespace

CompileWorkers::CompileWorkers(const std::vector<std::string>& command, double limit_seconds,
                               int at_once, const std::atomic<bool>* cancelled) {
  for (int i = 0; i < std::max(at_once, 1); ++i) {
    workers_.push_back(
        std::make_unique<CompileWorker>(command, limit_seconds, cancelled, &closing_));
    unstarted_.push_back(workers_.back().get());
  }
}

/// All at once: each takes a while to leave its driver.
CompileWorkers::~CompileWorkers() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& starter : starters_) starter.join();
  for (const auto& worker : workers_) worker->Kill();
}

void CompileWorkers::StartOne() {
  if (unstarted_.empty() || !failure_.ok()) return;
  CompileWorker* const worker = unstarted_.back();
  const int64_t at_ns = std::max(NowNs(), next_start_ns_);
  try {
    starters_.emplace_back([this, worker, at_ns] { Start(worker, at_ns); });
  } catch (const std::system_error& refused) {
    failure_ = Error(StatusCode::kIo, "no thread to start a compiler: {}", refused.what());
    return;
  }
  unstarted_.pop_back();
  next_start_ns_ = at_ns + kStartsApartNs;
  ++starting_;
}

void CompileWorkers::Start(CompileWorker* worker, int64_t at_ns) {
  {
    std::unique_lock lock(mutex_);
    const auto rest = std::chrono::nanoseconds(std::max<int64_t>(at_ns - NowNs(), 0));
    changed_.wait_for(lock, rest, [&] { return closing_ || NowNs() >= at_ns; });
  }
  Status started =
      closing_ ? Error(StatusCode::kCancelled, "the compilers are being stopped") : worker->Start();
  {
    const std::lock_guard lock(mutex_);
    --starting_;
    if (started.ok())
      idle_.push_back(worker);
    else
      failure_ = std::move(started);
  }
  changed_.notify_all();
}

void CompileWorkers::StartAll() {
  const std::lock_guard lock(mutex_);
  for (size_t left = unstarted_.size(); left > 0; --left) StartOne();
}

Result<CompileWorker*> CompileWorkers::Take(size_t text_bytes) {
  std::unique_lock lock(mutex_);
  const Waiting own{text_bytes, --next_};
  waiting_.insert(own);
  if (idle_.size() + starting_ < waiting_.size()) StartOne();
  changed_.wait(lock, [&] { return NoneIsLeft() || (*waiting_.begin() == own && !idle_.empty()); });
  waiting_.erase(own);
  if (idle_.empty()) return failure_;
  CompileWorker* const worker = idle_.back();
  idle_.pop_back();
  ++busy_;
  changed_.notify_all();
  return worker;
}

void CompileWorkers::Return(CompileWorker* worker) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    idle_.push_back(worker);
  }
  changed_.notify_all();
}

Result<std::vector<std::byte>> CompileWorkers::Compile(const ProgramSource& source,
                                                       std::string_view fingerprint) {
  ASSIGN_OR_RETURN(CompileWorker* const worker, Take(source.text.size()));
  Result<std::vector<std::byte>> binary = worker->Compile(source, fingerprint);
  if (binary.ok()) has_compiled_ = true;
  Return(worker);
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

/// The device that was asked for first.
class FirstName {
 public:
  bool IsThis(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (!name_) name_ = name;
    return *name_ == name;
  }

 private:
  std::mutex mutex_;
  std::optional<std::string> name_;
};

}  // namespace

std::shared_ptr<void> CompileOpenClElsewhere(const CompileProcesses& processes) {
  const auto workers = std::make_shared<CompileWorkers>(processes.command, processes.limit_seconds,
                                                        processes.at_once, processes.cancelled);
  if (!KeepsPrograms(processes.programs)) {
    // A driver that several processes open for the first time at once may have no device for some.
    (void)ListOpenClDevices();
    workers->StartAll();
  }
  const auto first = processes.first_here ? std::make_shared<FirstThread>() : nullptr;
  const auto own = std::make_shared<FirstName>();
  SetProgramCompiler(
      [workers, first, own](const ProgramSource& source,
                            std::string_view fingerprint) -> Result<std::vector<std::byte>> {
        // Drivers that compile one program at a time make what others have compiled wait for this
        // process's turn, too.
        if (!own->IsThis(fingerprint) ||
            (first != nullptr && !workers->has_compiled() && first->IsThis()))
          return std::vector<std::byte>();
        return workers->Compile(source, fingerprint);
      });
  SetCompilesAtOnce(processes.at_once);
  return std::shared_ptr<void>(nullptr, [](void*) {
    SetCompilesAtOnce(0);
    SetProgramCompiler(nullptr);
  });
}

Result<int> ServeOpenClCompiles(std::string_view which) {
  ASSIGN_OR_RETURN(const std::shared_ptr<OpenClDevice> device,
                   OpenClDevice::Open(which, {.only_compiles = true}));
  OpenClPrograms& programs = device->programs();
  return ServeCompiles(STDIN_FILENO, device->fingerprint(),
                       [&](const ProgramSource& source) -> Result<std::vector<std::byte>> {
                         ASSIGN_OR_RETURN(const auto program, programs.Get(source));
                         return program->Binary();
                       });
}

}  // namespace fettle
