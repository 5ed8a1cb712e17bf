// compiled: small
// cpu.softmax.bytes: Softmax over the innermost axes between DequantizeLinear and QuantizeLinear,
// in place where the input dies.
#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/cpu/softmax/byte_row.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/op.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  RowExtents extents;
  ByteSoftmax types;
};

class SoftmaxBytes final : public CpuKernel {
 public:
  SoftmaxBytes(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads),
        rows_(facts.extents.outer),
        n_(facts.extents.row),
        types_(facts.types) {}

  std::vector<Alias> aliases() const override { return {{.output = 0, .input = 0}}; }

  Status Run(const CpuLaunch& args) const override {
    const auto* x = args.inputs[0].host<uint8_t>();
    auto* y = args.outputs[0].host<uint8_t>();
    const RowTasks tasks = TasksOfRows(rows_, n_);
    args.stream.ParallelFor(tasks.count, [&](int64_t task, int lane) {
      float* row = args.At(row_, lane);
      const int64_t end = std::min(rows_, (task + 1) * tasks.rows);
      for (int64_t r = task * tasks.rows; r < end; ++r)
        SoftmaxByteRow(types_, x + r * n_, n_, row, y + r * n_);
    });
    return OkStatus();
  }

 private:
  int64_t rows_, n_;
  ByteSoftmax types_;
  LaneScratch<float> row_ = PerLane<float>(n_);
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const AffineGroup affine, ReadAffineGroup(group));
  if (affine.node->op != "Softmax"_op) return Unsupported("computes Softmax only");
  const AffineType &from = affine.from, &to = affine.to;
  if (!from.is_integer() || !to.is_integer()) return Unsupported("no bytes");
  // Steps of the input that are not positive or finite, or have no reciprocal, are for floats. Of
  // others no row is NaN: nan_to_zero changes nothing.
  if (!(from.scale > 0) || !(to.scale > 0) || !std::isfinite(from.scale) ||
      !std::isnormal(1 / to.scale))
    return Unsupported("unusual scales");
  const Shape& x = *group.value(affine.input).shape;
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ops::SoftmaxAxes(*affine.node, x.rank()));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(x, Layout::RowMajor(), mask));
  if (extents.inner != 1) return Unsupported("not along the innermost axes");
  if (extents.row < kFewestByteColumns || extents.elements() == 0)
    return Unsupported("rows of less than {} elements", kFewestByteColumns);
  return Facts{extents,
               {.flip = static_cast<uint8_t>(from.storage == DType::kI8 ? 0x80 : 0),
                .x_scale = from.scale,
                .is_signed = to.storage == DType::kI8,
                .y_scale = to.scale,
                .y_zero = to.zero}};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Make<SoftmaxBytes>,
                                .taste = Always<15>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuSoftmaxBytes;
const KernelDesc kCpuSoftmaxBytes = {.name = "cpu.softmax.bytes", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
