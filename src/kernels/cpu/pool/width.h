// How the windows of a pooling lie along the width.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/pool/row.h"

namespace fettle::kernels {

/// Floats behind joined rows, which vectors reach: three vectors of any target's.
constexpr int64_t kJoinedSlack = 48;

/// The pixels of a row of outputs whose whole window lies inside its width.
struct InsideWidth {
  int64_t begin, end;

  InsideWidth(int64_t begin, int64_t end) : begin(begin), end(end) {}
  explicit InsideWidth(const PoolPlan& plan) {
    const int64_t stride = plan.stride[2], pad = plan.pad_begin[2];
    const int64_t reach = (plan.kernel[2] - 1) * plan.dilation[2];
    const int64_t last = plan.in[2] - 1 - reach + pad;  // from which none are outside
    begin = std::min((pad + stride - 1) / stride, plan.out[2]);
    end = last < 0 ? begin : std::clamp(last / stride + 1, begin, plan.out[2]);
  }
};

/// What rows have before and behind them so that all windows lie inside: what loses against every
/// element of a maximum, and adds nothing to a sum. None where some windows have no element.
struct WidthPads {
  int64_t before = 0, behind = 0;

  explicit WidthPads(const PoolPlan& plan) {
    const int64_t pad = plan.pad_begin[2], kernel = plan.kernel[2];
    const int64_t last = (plan.out[2] - 1) * plan.stride[2] - pad;
    if (plan.dilation[2] != 1 || pad >= kernel || last >= plan.in[2]) return;
    before = pad * plan.channels;
    behind = std::max<int64_t>(0, last + kernel - plan.in[2]) * plan.channels;
  }
  bool any() const { return before + behind > 0; }
  void Fill(float* row, int64_t width, bool max) const {
    const float pad = max ? -std::numeric_limits<float>::infinity() : 0.0f;
    std::fill_n(row, before, pad);
    std::fill_n(row + before + width, behind, pad);
  }
};

}  // namespace fettle::kernels
