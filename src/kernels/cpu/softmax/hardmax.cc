// compiled: small
// cpu.hardmax.rows: 1 at the first maximum of each row, 0 elsewhere, along any axis, row-major.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduce/arg.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/op.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kColumns = 256;

class Hardmax final : public CpuKernel {
 public:
  Hardmax(const Problem&, const RowExtents& extents) : extents_(extents) {}

  Status Run(const CpuLaunch& args) const override {
    const float* x = args.inputs[0].host<float>();
    float* y = args.outputs[0].host<float>();
    ForColumns(args.stream, extents_, kColumns,
               [&](int64_t at, int64_t columns) { Columns(x + at, columns, y + at); });
    return OkStatus();
  }

 private:
  void Columns(const float* x, int64_t columns, float* y) const {
    int64_t best[kColumns];
    ArgColumns({}, x, extents_.row, extents_.inner, columns, best);
    const bool is_whole = columns == extents_.inner;  // all of it lies together
    const int64_t runs = is_whole ? 1 : extents_.row,
                  run = is_whole ? extents_.row * columns : columns;
    for (int64_t r = 0; r < runs; ++r) FillZeros(y + r * extents_.inner, run);
    for (int64_t i = 0; i < columns; ++i) {
      const float most = x[best[i] * extents_.inner + i];
      const int64_t at = most == most ? best[i] : FirstNumber(x + i);
      y[at * extents_.inner + i] = 1;
    }
  }

  /// The first maximum of a row with NaN in it, which counts for nothing.
  int64_t FirstNumber(const float* x) const {
    int64_t best = -1;
    for (int64_t r = 0; r < extents_.row; ++r) {
      const float value = x[r * extents_.inner];
      if (value == value && (best < 0 || value > x[best * extents_.inner])) best = r;
    }
    // Where all numbers are -inf, none is above the start of the search.
    return best < 0 || x[best * extents_.inner] == -INFINITY ? 0 : best;
  }

  RowExtents extents_;
};

Result<RowExtents> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "Hardmax"_op)
    return Unsupported("computes Hardmax only");
  const ir::Value& x = group.value(group.nodes()[0].inputs[0]);
  RETURN_IF_ERROR(CheckFloat(x.dtype));
  if (x.is_constant()) return Unsupported("the operand is constant");
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ops::SoftmaxAxes(group.nodes()[0], x.shape->rank()));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(*x.shape, Layout::RowMajor(), mask));
  if (extents.row >= 1 << 24) return Unsupported("rows beyond 2^24 elements");
  return extents;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const RowExtents&,
                                            const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

constexpr Family<RowExtents> kFamily{.read = Read,
                                     .states = States,
                                     .prepare = Make<Hardmax>,
                                     .taste = Always<10>,
                                     .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuHardmaxRows;
const KernelDesc kCpuHardmaxRows = {.name = "cpu.hardmax.rows", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
