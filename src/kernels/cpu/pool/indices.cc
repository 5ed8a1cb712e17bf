// compiled: small
// cpu.pool.indices: MaxPool with the positions of its maxima, of floats held in fp32, row-major.
#include <algorithm>
#include <limits>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/pool/row.h"
#include "kernels/cpu/pool/tap_row.h"
#include "kernels/family.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

/// Planes are the batch of the plan, of pixels of one element.
struct Facts {
  PoolPlan plan;
  PoolPlan::Axes steps{0, 0, 1};  // of positions, along each axis
  float empty = 0;                // the maximum of no elements
};

class PoolWithIndices final : public CpuKernel {
 public:
  PoolWithIndices(const Problem& problem, const Facts& facts)
      : operands_(*problem.group), facts_(facts) {
    const PoolPlan& plan = facts_.plan;
    const int64_t taps = plan.kernel[0] * plan.kernel[1] * plan.kernel[2];
    rows_per_task_ = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plan.out[2] * taps));
    // Few windows are not worth it.
    const auto is_inside = [&](int64_t ow) {
      const PoolTaps w(plan, 2, ow);
      return w.begin == 0 && w.end == plan.kernel[2];
    };
    if (taps > kMostTaps || plan.out[2] < 8) return;
    while (inside_begin_ < plan.out[2] && !is_inside(inside_begin_)) ++inside_begin_;
    inside_end_ = inside_begin_;
    while (inside_end_ < plan.out[2] && is_inside(inside_end_)) ++inside_end_;
  }

  Status Run(const CpuLaunch& args) const override {
    const auto* x = reinterpret_cast<const float*>(operands_.input(args, 0));
    auto* y = reinterpret_cast<float*>(operands_.output(args, 0));
    auto* positions = reinterpret_cast<int64_t*>(operands_.output(args, 1));
    const int64_t rows = facts_.plan.batch * facts_.plan.out[0] * facts_.plan.out[1];
    args.stream.ParallelFor((rows + rows_per_task_ - 1) / rows_per_task_, [&](int64_t task, int) {
      const int64_t end = std::min(rows, (task + 1) * rows_per_task_);
      for (int64_t row = task * rows_per_task_; row < end; ++row) RunRow(x, row, y, positions);
    });
    return OkStatus();
  }

 private:
  static constexpr int64_t kTogether = 128;  // windows
  static constexpr int64_t kMostTaps = 256;

  struct Memory {
    const float* x;
    float* y;
    int64_t* positions;
  };
  /// A row of windows.
  struct Place {
    const PoolTaps* taps[2];  // along depth and height
    int64_t base, to;         // first elements of the plane, and of the row's results
    Memory memory;
  };

  void RunRow(const float* x, int64_t row, float* y, int64_t* positions) const {
    const PoolPlan& plan = facts_.plan;
    const PoolRowAt at(plan, row);
    const PoolTaps d(plan, 0, at.depth), h(plan, 1, at.height);
    const Place place{{&d, &h},
                      at.image * plan.in[0] * plan.in[1] * plan.in[2],
                      row * plan.out[2],
                      {x, y, positions}};
    for (int64_t ow = 0; ow < inside_begin_; ++ow) RunWindow(place, ow);
    for (int64_t ow = inside_begin_; ow < inside_end_; ow += kTogether)
      RunWindows(place, ow, std::min(kTogether, inside_end_ - ow));
    for (int64_t ow = inside_end_; ow < plan.out[2]; ++ow) RunWindow(place, ow);
  }

  /// Calls f with the input row and its first position, for each row of a window.
  template <typename F>
  void ForEachLine(const Place& place, const F& f) const {
    const PoolPlan& plan = facts_.plan;
    const PoolTaps &d = *place.taps[0], &h = *place.taps[1];
    for (int64_t kd = d.begin; kd < d.end; ++kd) {
      for (int64_t kh = h.begin; kh < h.end; ++kh) {
        const int64_t z = d.first + kd * plan.dilation[0], r = h.first + kh * plan.dilation[1];
        f(place.memory.x + place.base + (z * plan.in[1] + r) * plan.in[2],
          place.base + z * facts_.steps[0] + r * facts_.steps[1]);
      }
    }
  }

  void Store(const Place& place, int64_t ow, float best, int64_t at) const {
    if (place.memory.y != nullptr) place.memory.y[place.to + ow] = best;
    if (place.memory.positions != nullptr) place.memory.positions[place.to + ow] = at;
  }

  void RunWindow(const Place& place, int64_t ow) const {
    const PoolPlan& plan = facts_.plan;
    const PoolTaps w(plan, 2, ow);
    float best = facts_.empty;
    int64_t at = -1;
    ForEachLine(place, [&](const float* line, int64_t position) {
      for (int64_t kw = w.begin; kw < w.end; ++kw) {
        const int64_t c = w.first + kw * plan.dilation[2];
        // The first of equal ones counts, and a NaN if it is the first of all.
        const bool better = at < 0 || line[c] > best;
        best = better ? line[c] : best;
        at = better ? position + c * facts_.steps[2] : at;
      }
    });
    Store(place, ow, best, at);
  }

  /// `n` windows from `ow` on, whose taps lie within each line, tap by tap.
  void RunWindows(const Place& place, int64_t ow, int64_t n) const {
    const PoolPlan& plan = facts_.plan;
    const int64_t c = ow * plan.stride[2] - plan.pad_begin[2];
    float best[kTogether];
    int32_t taps[kTogether];
    int64_t of_taps[kMostTaps];
    int32_t tap = 0;
    ForEachLine(place, [&](const float* line, int64_t position) {
      for (int64_t kw = 0; kw < plan.kernel[2]; ++kw, ++tap) {
        const int64_t at = c + kw * plan.dilation[2];
        TakeGreater(line + at, plan.stride[2], n, tap, tap == 0, best, taps);
        of_taps[tap] = position + at * facts_.steps[2];
      }
    });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t step = i * plan.stride[2] * facts_.steps[2];
      tap == 0 ? Store(place, ow + i, facts_.empty, -1)
               : Store(place, ow + i, best[i], of_taps[taps[i]] + step);
    }
  }

  NodeOperands operands_;
  Facts facts_;
  int64_t rows_per_task_ = 1;
  int64_t inside_begin_ = 0, inside_end_ = 0;  // windows of a row that are computed together
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.inputs.size() != 1)
    return Unsupported("computes MaxPool alone");
  const ir::Node& node = group.nodes()[0];
  if (node.op != "MaxPool"_op || node.outputs.size() != 2)
    return Unsupported("computes MaxPool with indices only");
  const ir::Value &x = group.value(node.inputs[0]), &y = group.value(node.outputs[0]);
  const bool is_half = x.dtype == DType::kF16 || x.dtype == DType::kBF16;
  if (x.dtype != DType::kF32 && !is_half)
    return Unsupported("{} is not compared here", DTypeName(x.dtype));
  const int axes = x.shape->rank() - 2;
  if (axes < 1 || axes > 3) return Unsupported("1 to 3 spatial axes");
  ASSIGN_OR_RETURN(const ops::PoolAttributes pool, ops::ReadPool(node, *x.shape));
  Facts facts;
  facts.empty =
      is_half ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::lowest();
  PoolPlan& plan = facts.plan;
  plan.batch = x.shape->Count(0, 2);
  for (int axis = 0; axis < axes; ++axis) {
    const size_t from = axis, to = from + 3 - axes;
    plan.in[to] = (*x.shape)[axis + 2];
    plan.out[to] = (*y.shape)[axis + 2];
    plan.kernel[to] = pool.kernel[from];
    plan.stride[to] = pool.strides[from];
    plan.dilation[to] = pool.dilations[from];
    plan.pad_begin[to] = pool.pad_begin[from];
  }
  facts.steps = {plan.in[1] * plan.in[2], plan.in[2], 1};
  // Axes that the pooling does not have are of one element.
  if (pool.column_major) facts.steps = {1, plan.in[0], plan.in[0] * plan.in[1]};
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<PoolWithIndices>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuPoolIndices;
const KernelDesc kCpuPoolIndices = {.name = "cpu.pool.indices", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
