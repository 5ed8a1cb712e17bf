// Programs of the annex: a source is the name of an operator, and its binary is that name in
// capitals. Compiled here, or by what stands for other processes (CompileElsewhere).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/compile_elsewhere.h"
#include "device/device.h"

namespace fettle {

/// Thread-safe.
class AnnexPrograms {
 public:
  using Compiler = std::function<Result<std::string>(const std::string& source)>;

  /// Set while other processes compile; null: this one does.
  static Compiler& Elsewhere() {
    static Compiler compiler;
    return compiler;
  }
  static Result<std::string> Compile(const std::string& source) {
    std::string binary = source;
    for (char& letter : binary)
      if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return binary;
  }

  Result<std::string> Get(const std::string& source) {
    const std::lock_guard lock(mutex_);
    if (const auto found = binaries_.find(source); found != binaries_.end()) return found->second;
    const Result<std::string> binary = Elsewhere() ? Elsewhere()(source) : Compile(source);
    if (!binary.ok()) {
      ++statistics_.failed;
      return Error(StatusCode::kBuildFailed, "annex: program '{}': {}", source,
                   binary.status().message());
    }
    ++statistics_.built;
    binaries_[source] = *binary;
    return *binary;
  }
  std::vector<ProgramBinary> Export() {
    const std::lock_guard lock(mutex_);
    std::vector<ProgramBinary> programs;
    for (const auto& [source, binary] : binaries_) {
      const auto* bytes = reinterpret_cast<const std::byte*>(binary.data());
      programs.push_back({source, {bytes, bytes + binary.size()}});
    }
    return programs;
  }
  void Import(const std::vector<ProgramBinary>& programs) {
    const std::lock_guard lock(mutex_);
    for (const ProgramBinary& program : programs) {
      const auto* text = reinterpret_cast<const char*>(program.bytes.data());
      statistics_.from_package +=
          binaries_.try_emplace(program.key, text, program.bytes.size()).second;
    }
  }
  ProgramStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> binaries_;  // guarded, as are the statistics
  ProgramStatistics statistics_;
};

/// How many programs were compiled elsewhere.
inline std::atomic<int>& CompiledElsewhere() {
  static std::atomic<int> count = 0;
  return count;
}

inline std::shared_ptr<void> CompileAnnexElsewhere(const CompileProcesses& processes) {
  AnnexPrograms::Elsewhere() = [](const std::string& source) {
    ++CompiledElsewhere();
    return AnnexPrograms::Compile(source);
  };
  SetCompilesAtOnce(processes.at_once);
  return std::shared_ptr<void>(nullptr, [](void*) {
    SetCompilesAtOnce(0);
    AnnexPrograms::Elsewhere() = nullptr;
  });
}

}  // namespace fettle
