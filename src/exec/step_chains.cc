#include "exec/step_chains.h"

#include <algorithm>

namespace fettle::exec {
namespace {

/// Programs come and go with the shapes of inputs; what is forgotten is built again.
constexpr size_t kMostChains = 256;
/// Of one chain: callers take a few buffers in turns, and making a chain takes longer than its run.
constexpr size_t kMostOperands = 8;

bool AreSame(const std::vector<Location>& a, const std::vector<Location>& b) {
  return std::ranges::equal(a, b, [](const Location& x, const Location& y) {
    return x.base == y.base && x.offset == y.offset;
  });
}

}  // namespace

LaunchChain* StepChains::Find(const Key& key, std::string_view name, std::vector<Location> operands,
                              const std::function<Result<std::unique_ptr<LaunchChain>>()>& make,
                              const Policy& policy) {
  if (given_up_) return nullptr;
  if (built_.size() >= kMostChains && !built_.contains(key)) built_.clear();
  std::vector<Built>& all = built_[key];
  auto known = std::ranges::find_if(
      all, [&](const Built& built) { return AreSame(built.operands, operands); });
  if (known == all.end()) {
    if (all.size() >= kMostOperands) return nullptr;
    known = all.insert(all.end(), Built{.operands = std::move(operands)});
  }
  if (known->is_made || ++known->runs < policy.from_run) return known->launch.get();
  known->is_made = true;
  Result<std::unique_ptr<LaunchChain>> made = make();
  if (made.ok()) {
    known->launch = std::move(*made);
  } else {
    failed_.insert(key.first);
    Log(policy.level, "{}: launched one by one: {}", name, made.status().message());
  }
  return known->launch.get();
}

void StepChains::GiveUp() {
  given_up_ = true;
  built_.clear();
  Log(LogLevel::kWarn,
      "work-groups of a chain of launches were not on the device at once: the session launches "
      "its steps one by one from now on");
}

}  // namespace fettle::exec
