#include "kernels/cpu/elementwise/broadcast.h"

#include <algorithm>

namespace fettle::kernels::elementwise {
namespace {

constexpr int64_t kElementsPerTask = 16384;

}  // namespace

BroadcastLoop::BroadcastLoop(std::vector<int64_t> dims, std::vector<std::vector<int64_t>> strides)
    : dims_(std::move(dims)), strides_(std::move(strides)) {
  for (int64_t extent : dims_) elements_ *= extent;
  if (dims_.empty()) {
    dims_.push_back(1);
    for (std::vector<int64_t>& operand : strides_) operand.push_back(0);
  }
  // Merges axes that every operand walks as one.
  for (size_t i = dims_.size() - 1; i-- > 0;) {
    const bool one = std::all_of(strides_.begin(), strides_.end(), [&](const auto& operand) {
      return operand[i] == operand[i + 1] * dims_[i + 1] || dims_[i] == 1;
    });
    if (!one) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    dims_[i + 1] *= dims_[i];
    dims_.erase(dims_.begin() + at);
    for (std::vector<int64_t>& operand : strides_) operand.erase(operand.begin() + at);
  }
  columns_ = std::max<int64_t>(dims_.back(), 1);
  per_task_ = kElementsPerTask;
  tasks_ = (elements_ + per_task_ - 1) / per_task_;
}

}  // namespace fettle::kernels::elementwise
