#include "device/cuda/modules.h"

#include <atomic>
#include <thread>

#include "device/cuda/module_text.h"

namespace fettle::cuda {
namespace {

constexpr int kMaxDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

/// Calls task(i) for i in [0, tasks) on as many threads as there are processors.
void OnThreads(size_t tasks, const std::function<void(size_t)>& task) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = 0; (i = next.fetch_add(1)) < tasks;) task(i);
  };
  std::vector<std::thread> threads;
  const size_t wanted = std::min<size_t>(tasks, std::thread::hardware_concurrency());
  for (size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Modules::~Modules() {
  const PrimaryContext::Scope scope(*context_);
  for (const auto& [name, program] : programs_) api().ModuleUnload(program.module);
}

fettle::Result<Modules::Program> Modules::Compile(const Launch& launch) const {
  const std::vector<std::byte> ptx = launch.ptx();
  ASSIGN_OR_RETURN(ModuleText text,
                   ModuleTextOf({reinterpret_cast<const char*>(ptx.data()), ptx.size()}));
  Program program{.module = nullptr, .dynamic_bytes = std::move(text.dynamic_bytes), .entries = {}};
  const PrimaryContext::Scope scope(*context_);
  RETURN_IF_ERROR(Check(api().ModuleLoadData(&program.module, text.ptx.c_str()), launch.function));
  return program;
}

Status Modules::Load(std::span<const Launch> launches) {
  std::map<std::string_view, const Launch*> missing;
  const std::lock_guard lock(mutex_);
  for (const Launch& launch : launches)
    if (!programs_.contains(launch.program)) missing[launch.program] = &launch;
  const std::vector<std::pair<std::string_view, const Launch*>> all(missing.begin(), missing.end());
  std::vector<Status> statuses(all.size());
  std::mutex adding;
  OnThreads(all.size(), [&](size_t i) {
    fettle::Result<Program> program = Compile(*all[i].second);
    statuses[i] = program.status();
    const std::lock_guard added(adding);
    if (program.ok()) programs_[std::string(all[i].first)] = std::move(*program);
  });
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  return OkStatus();
}

fettle::Result<Modules::Entry> Modules::EntryOf(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  Program& program = programs_.find(launch.program)->second;
  if (const auto known = program.entries.find(launch.function); known != program.entries.end())
    return known->second;
  const std::string name(launch.function);
  Entry entry;
  RETURN_IF_ERROR(
      Check(api().ModuleGetFunction(&entry.function, program.module, name.c_str()), name));
  if (const auto dynamic = program.dynamic_bytes.find(name);
      dynamic != program.dynamic_bytes.end() && dynamic->second > 0) {
    entry.dynamic_bytes = static_cast<unsigned>(dynamic->second);
    RETURN_IF_ERROR(Check(api().FunctionSetAttribute(entry.function, kMaxDynamicSharedBytes,
                                                     static_cast<int>(entry.dynamic_bytes)),
                          name));
  }
  return program.entries[name] = entry;
}

Status Modules::Enqueue(const Launch& launch, Stream stream) {
  ASSIGN_OR_RETURN(const Entry entry, EntryOf(launch));
  std::vector<void*> parameters;
  for (const std::array<std::byte, 64>& parameter : launch.parameters)
    parameters.push_back(const_cast<std::byte*>(parameter.data()));
  const auto& [groups, items] = std::pair(launch.groups, launch.items);
  return Check(
      api().LaunchKernel(entry.function, groups[0], groups[1], groups[2], items[0], items[1],
                         items[2], entry.dynamic_bytes, stream, parameters.data(), nullptr),
      launch.function);
}

}  // namespace fettle::cuda
