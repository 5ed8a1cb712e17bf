#include "kernels/cpu/elementwise/broadcast.h"

#include <algorithm>

#include "kernels/expr/leaf_forms.h"

namespace fettle::kernels::elementwise {
namespace {

constexpr int64_t kElementsPerTask = 16384;

}  // namespace

BroadcastLoop::BroadcastLoop(std::vector<int64_t> dims, std::vector<std::vector<int64_t>> strides,
                             int64_t weight)
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
  per_task_ = std::max<int64_t>(1, kElementsPerTask / weight);
  tasks_ = (elements_ + per_task_ - 1) / per_task_;
}

void BroadcastLoop::JoinTile(int64_t most) {
  tile_strides_.resize(strides_.size());
  while (dims_.size() > 1 && dims_.back() * tile_ <= most) {
    tile_ *= dims_.back();
    tile_dims_.insert(tile_dims_.begin(), dims_.back());
    dims_.pop_back();
    for (size_t i = 0; i < strides_.size(); ++i) {
      tile_strides_[i].insert(tile_strides_[i].begin(), strides_[i].back());
      strides_[i].pop_back();
    }
  }
  if (tile_ <= 1) return;
  dims_.back() *= tile_;
  columns_ = std::max<int64_t>(dims_.back(), 1);
  per_task_ = std::max<int64_t>(1, kElementsPerTask / tile_) * tile_;
  tasks_ = (elements_ + per_task_ - 1) / per_task_;
}

int64_t BroadcastLoop::FindRow(int64_t row, int64_t* starts) const {
  std::fill_n(starts, strides_.size(), 0);
  size_t k = dims_.size() - 1;
  if (k == 0) return 1;
  const int64_t left = dims_[k - 1] - row % dims_[k - 1];
  for (; k-- > 0; row /= dims_[k]) {
    for (size_t i = 0; i < strides_.size(); ++i) starts[i] += row % dims_[k] * strides_[i][k];
  }
  return left;
}

}  // namespace fettle::kernels::elementwise
