#include "solver/network/limited.h"

#include <algorithm>

namespace fettle::solver {
namespace {

/// Keeps sums over a million entries far from overflow.
constexpr int64_t kMostBytes = int64_t{1} << 43;

Status ValidateHeld(const LimitedNetwork& problem, size_t index) {
  const Held& held = problem.held[index];
  if (held.variable < 0 || held.variable >= problem.network.variables()) {
    return InvalidArgument("held {}: no variable {}", index, held.variable);
  }
  if (held.begin < 0 || held.begin >= held.end || held.end > problem.steps()) {
    return InvalidArgument("held {}: steps {} to {} are not in range", index, held.begin, held.end);
  }
  if (static_cast<int>(held.bytes.size()) != problem.network.domain(held.variable)) {
    return InvalidArgument("held {}: expected bytes for each value of variable {}", index,
                           held.variable);
  }
  const bool in_range = std::all_of(held.bytes.begin(), held.bytes.end(), [](int64_t bytes) {
    return bytes >= 0 && bytes <= kMostBytes;
  });
  if (!in_range) return InvalidArgument("held {}: bytes are not in range", index);
  return OkStatus();
}

}  // namespace

std::vector<int64_t> Load(const LimitedNetwork& problem, const Assignment& values) {
  std::vector<int64_t> load(problem.capacity.size() + 1, 0);
  for (const Held& held : problem.held) {
    const int value = values[held.variable];
    const int64_t bytes = held.bytes[value];
    load[held.begin] += bytes;
    load[held.end] -= bytes;
  }
  for (size_t t = 1; t < load.size(); ++t) load[t] += load[t - 1];
  load.pop_back();
  return load;
}

bool Fits(const LimitedNetwork& problem, const Assignment& values) {
  const std::vector<int64_t> load = Load(problem, values);
  for (size_t t = 0; t < load.size(); ++t) {
    if (load[t] > problem.capacity[t]) return false;
  }
  return true;
}

Status Validate(const LimitedNetwork& problem) {
  RETURN_IF_ERROR(Validate(problem.network));
  if (problem.capacity.empty() && !problem.held.empty()) {
    return InvalidArgument("memory is held but no step has a capacity");
  }
  for (size_t i = 0; i < problem.held.size(); ++i) RETURN_IF_ERROR(ValidateHeld(problem, i));
  return OkStatus();
}

}  // namespace fettle::solver
