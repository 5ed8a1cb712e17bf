// The chains of a session's programs as its streams have built them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "device/device.h"

namespace fettle::exec {

/// Of one session; belongs to the thread that runs it.
class StepChains {
 public:
  /// A chain of a program (Program::id).
  using Key = std::pair<uint64_t, size_t>;

  /// When a chain is built, and how loudly a failure is reported.
  struct Policy {
    int from_run = 1;  // on the same operands
    LogLevel level = LogLevel::kWarn;
  };
  /// The launch of the chain `key` on `operands`, which `make` builds where it is unknown; null,
  /// with one line in the log the first time, where it fails, before its first run by `policy`, for
  /// operands that change again and again, and after GiveUp. Lives until the next call.
  LaunchChain* Find(const Key& key, std::string_view name, std::vector<Location> operands,
                    const std::function<Result<std::unique_ptr<LaunchChain>>()>& make,
                    const Policy& policy);

  /// Whether any launch of a program could not be built.
  bool HasFailed(uint64_t program) const { return failed_.contains(program); }

  /// The work-groups of a chain were not there at once: says so, and has no more chains.
  void GiveUp();

 private:
  struct Built {
    std::vector<Location> operands;
    std::unique_ptr<LaunchChain> launch;  // null before it is made, and where that failed
    int runs = 0;                         // before it was made
    bool is_made = false;
  };
  bool given_up_ = false;
  std::map<Key, std::vector<Built>> built_;
  std::set<uint64_t> failed_;
};

}  // namespace fettle::exec
