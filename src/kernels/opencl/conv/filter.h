// Weights of convolutions as kernels read them: packed in blocks, the bias in front.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// One axis of packed weights: each of its `extent` steps goes `step` further along dimension `dim`
/// of the constant.
struct FilterAxis {
  int64_t extent = 1;
  size_t dim = 0;
  int64_t step = 1;
};

/// Bias and weights in one blob: `bias` floats (channels beyond the bias get zero), then `elements`
/// weights. They are the row-major array of `axes`, read of a constant of `dims` (row-major) with
/// zero outside of it, and zeros behind; or, where axes cannot say it, each is the element that
/// `source` names, or zero (-1), which takes longer to pack.
struct FilterForm {
  std::string recipe;
  int64_t bias = 0, elements = 0;
  std::vector<int64_t> dims;
  std::vector<FilterAxis> axes;
  std::function<int64_t(int64_t i)> source;
};

/// The rows of a form's axes, one after the other.
class FilterWalk {
 public:
  explicit FilterWalk(const FilterForm& form)
      : form_(form), strides_(form.dims.size(), 1), at_(form.dims.size(), 0) {
    for (size_t dim = form.dims.size(); dim-- > 1;)
      strides_[dim - 1] = strides_[dim] * form.dims[dim];
  }

  template <typename Put>
  void Run(Put put, size_t axis = 0) {
    const FilterAxis& along = form_.axes[axis];
    if (axis + 1 == form_.axes.size()) return Row(along, put);
    const int64_t first = at_[along.dim];
    for (int64_t i = 0; i < along.extent; ++i, at_[along.dim] += along.step) Run(put, axis + 1);
    at_[along.dim] = first;
  }

 private:
  template <typename Put>
  void Row(const FilterAxis& along, Put put) {
    int64_t from = 0, inside = along.extent;
    for (size_t dim = 0; dim < at_.size(); ++dim) {
      from += at_[dim] * strides_[dim];
      const int64_t left = form_.dims[dim] - at_[dim];
      const int64_t most = dim == along.dim ? (left + along.step - 1) / along.step : along.extent;
      inside = left > 0 ? std::min(inside, most) : 0;
    }
    const int64_t stride = strides_[along.dim] * along.step;
    for (int64_t i = 0; i < inside; ++i) put(to_ + i, from + i * stride);
    to_ += along.extent;
  }

  const FilterForm& form_;
  std::vector<int64_t> strides_, at_;
  int64_t to_ = 0;
};

/// Calls put(to, from) for each packed element that is element `from` of the constant.
template <typename Put>
void ForEachWeight(const FilterForm& form, Put put) {
  if (!form.axes.empty()) return FilterWalk(form).Run(put);
  for (int64_t to = 0; to < form.elements; ++to) {
    const int64_t from = form.source(to);
    if (from >= 0) put(to, from);
  }
}

/// The weights `w` in `storage` (f32 or f16) behind the bias `b` (ir::kAbsent: none).
PackRequest RequestFilter(ir::ValueId w, ir::ValueId b, const FilterForm& form, DType storage);

}  // namespace fettle::kernels
