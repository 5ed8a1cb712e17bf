// cpu.norm.lp: LpNormalization of fp32 along any axis, row-major, in place where the input dies.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduce/fold.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/norm/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kColumns = 256;

struct Facts {
  RowExtents extents;
  bool l1;
};

class LpNorm final : public CpuKernel {
 public:
  LpNorm(const Problem&, const Facts& facts) : extents_(facts.extents), l1_(facts.l1) {}

  std::vector<Alias> aliases() const override { return {{.output = 0, .input = 0}}; }

  Status Run(const CpuLaunch& args) const override {
    const float* x = args.inputs[0].host<float>();
    float* y = args.outputs[0].host<float>();
    ForColumns(args.stream, extents_, kColumns,
               [&](int64_t at, int64_t columns) { Columns(x + at, columns, y + at); });
    return OkStatus();
  }

 private:
  void Columns(const float* x, int64_t columns, float* y) const {
    float norms[kColumns];
    Fold({.kind = l1_ ? FoldKind::kSumAbs : FoldKind::kSumSquare,
          .from = reinterpret_cast<const std::byte*>(x),
          .row = extents_.row,
          .inner = columns,
          .inner_stride = extents_.inner},
         norms);
    for (int64_t i = 0; i < columns; ++i) {
      if (!l1_) norms[i] = std::sqrt(norms[i]);
    }
    if (extents_.inner == 1) {
      // Nothing but zeros: 0 / 1.
      const float norm = norms[0] == 0 ? 1 : norms[0];
      for (int64_t r = 0; r < extents_.row; ++r) y[r] = x[r] / norm;
      return;
    }
    for (int64_t i = 0; i < columns; ++i) norms[i] = norms[i] == 0 ? 1 : norms[i];
    for (int64_t r = 0; r < extents_.row; ++r) {
      const float* from = x + r * extents_.inner;
      float* to = y + r * extents_.inner;
      for (int64_t i = 0; i < columns; ++i) to[i] = from[i] / norms[i];
    }
  }

  RowExtents extents_;
  bool l1_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "LpNormalization"_op)
    return Unsupported("computes LpNormalization only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.inputs[0]);
  RETURN_IF_ERROR(CheckFloat(x.dtype));
  if (x.is_constant()) return Unsupported("the operand is constant");
  ASSIGN_OR_RETURN(const ops::NormGroups groups, ops::ReadNormGroups(node, *x.shape));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(*x.shape, Layout::RowMajor(), groups.mask));
  return Facts{extents, node.attributes.Int("p", 2) == 1};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<LpNorm>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuNormLp;
const KernelDesc kCpuNormLp = {.name = "cpu.norm.lp", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
