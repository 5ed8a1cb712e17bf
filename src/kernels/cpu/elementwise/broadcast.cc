#include "kernels/cpu/elementwise/broadcast.h"

#include <algorithm>

namespace fettle::kernels::elementwise {
namespace {

constexpr int64_t kElementsPerTask = 16384;

/// Strides of `operand` along the axes of `output`.
std::vector<int64_t> Strides(const Shape& output, const Shape& operand) {
  const Dims own = RowMajorStrides(operand);
  std::vector<int64_t> strides(static_cast<size_t>(output.rank()), 0);
  const int lead = output.rank() - operand.rank();
  for (int axis = 0; axis < operand.rank(); ++axis) {
    if (operand[axis] != 1)
      strides[static_cast<size_t>(lead + axis)] = own[static_cast<size_t>(axis)];
  }
  return strides;
}

}  // namespace

BroadcastLoop::BroadcastLoop(const Shape& output, std::span<const Shape> operands)
    : dims_(output.dims()), elements_(output.elements()) {
  for (const Shape& operand : operands) strides_.push_back(Strides(output, operand));
  if (dims_.empty()) {
    dims_.push_back(1);
    for (std::vector<int64_t>& strides : strides_) strides.push_back(0);
  }
  // Merges axes that every operand walks as one.
  for (size_t i = dims_.size() - 1; i-- > 0;) {
    const bool one = std::all_of(strides_.begin(), strides_.end(), [&](const auto& strides) {
      return strides[i] == strides[i + 1] * dims_[i + 1] || dims_[i] == 1;
    });
    if (!one) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    dims_[i + 1] *= dims_[i];
    dims_.erase(dims_.begin() + at);
    for (std::vector<int64_t>& strides : strides_) strides.erase(strides.begin() + at);
  }
  columns_ = std::max<int64_t>(dims_.back(), 1);
  per_task_ = kElementsPerTask;
  tasks_ = (elements_ + per_task_ - 1) / per_task_;
}

}  // namespace fettle::kernels::elementwise
