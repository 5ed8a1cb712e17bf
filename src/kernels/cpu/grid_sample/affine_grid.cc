// cpu.affine_grid: AffineGrid in fp32: each line of the grid is a point and steps from it.
#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Axes of the grid, three at most.
constexpr int kMostAxes = 3;

/// The grid [batch, (depth,) height, width, axes].
struct Facts {
  Shape y;
  bool align;
};

class AffineGrid final : public CpuKernel {
 public:
  AffineGrid(const Problem& problem, const Facts& facts) : facts_(facts) {
    const ir::ValueId theta = problem.node().inputs[0];
    theta_ = VectorOperand(*problem.group, theta, problem.shape(theta), packs_);
    const int64_t width = facts.y[facts.y.rank() - 2];
    for (int64_t w = 0; w < width; ++w) columns_.push_back(Position(w, width));
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Run(const CpuLaunch& args) const override {
    const float* theta = theta_.At(args);
    float* y = args.outputs[0].host<float>();
    const int axes = facts_.y.rank() - 2;
    const int64_t width = facts_.y[axes];
    const int64_t lines = facts_.y.Count(0, axes), lines_each = facts_.y.Count(1, axes);
    const int64_t per_task = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, width));
    const auto run = [&](int64_t task, int) {
      for (int64_t l = task * per_task; l < std::min(lines, (task + 1) * per_task); ++l) {
        Line(theta + l / lines_each * axes * (axes + 1), l % lines_each, y + l * width * axes);
      }
    };
    args.stream.ParallelFor((lines + per_task - 1) / per_task, run);
    return OkStatus();
  }

 private:
  double Position(int64_t index, int64_t count) const {
    const auto i = static_cast<double>(index), n = static_cast<double>(count);
    if (facts_.align) return count > 1 ? 2 * i / (n - 1) - 1 : 0;
    return (2 * i + 1) / n - 1;
  }

  void Line(const float* theta, int64_t line, float* y) const {
    const int axes = facts_.y.rank() - 2;
    const int64_t width = facts_.y[axes];
    double base[kMostAxes], step[kMostAxes];
    for (int a = 0; a < axes; ++a) {
      const float* row = theta + a * (axes + 1);
      base[a] = row[axes];
      step[a] = row[0];
      int64_t rest = line;
      for (int axis = axes - 2; axis >= 0; --axis) {
        const int64_t extent = facts_.y[axis + 1];
        base[a] += Position(rest % extent, extent) * row[axes - 1 - axis];
        rest /= extent;
      }
    }
    if (axes == 2) {
      for (int64_t w = 0; w < width; ++w) {
        y[2 * w] = static_cast<float>(base[0] + columns_[w] * step[0]);
        y[2 * w + 1] = static_cast<float>(base[1] + columns_[w] * step[1]);
      }
      return;
    }
    for (int64_t w = 0; w < width; ++w) {
      const double position = columns_[w];
      for (int a = 0; a < axes; ++a)
        y[w * axes + a] = static_cast<float>(base[a] + position * step[a]);
    }
  }

  Facts facts_;
  VectorOperand theta_;
  std::vector<PackRequest> packs_;
  std::vector<double> columns_;  // the positions along a line
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "AffineGrid"_op)
    return Unsupported("computes AffineGrid only");
  const ir::Node& node = group.nodes()[0];
  const DType dtype = group.value(node.inputs[0]).dtype;
  RETURN_IF_ERROR(CheckFloat(dtype));
  return Facts{*group.value(node.outputs[0]).shape, node.attributes.Int("align_corners", 0) != 0};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<AffineGrid>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuAffineGrid;
const KernelDesc kCpuAffineGrid = {.name = "cpu.affine_grid", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
