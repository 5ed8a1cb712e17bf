#include "kernels/cpu/elementwise/broadcast.h"

#include <algorithm>

#include "kernels/expr/leaf_forms.h"

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
  std::vector<std::vector<int64_t>*> all;
  for (std::vector<int64_t>& operand : strides_) all.push_back(&operand);
  JoinDimensions(dims_, all, 0);
  columns_ = std::max<int64_t>(dims_.back(), 1);
  per_task_ = kElementsPerTask;
  tasks_ = (elements_ + per_task_ - 1) / per_task_;
}

void BroadcastLoop::JoinShortRows() {
  constexpr int64_t kShort = 32;
  if (dims_.size() < 2 || dims_.back() <= 1 || dims_.back() >= kShort) return;
  inner_ = dims_.back();
  dims_.pop_back();
  for (std::vector<int64_t>& operand : strides_) {
    inner_strides_.push_back(operand.back());
    operand.pop_back();
  }
  dims_.back() *= inner_;
  columns_ = std::max<int64_t>(dims_.back(), 1);
  per_task_ = kElementsPerTask / inner_ * inner_;
  tasks_ = (elements_ + per_task_ - 1) / per_task_;
}

}  // namespace fettle::kernels::elementwise
