// compiled: small
// cpu.norm.layer: LayerNormalization and RMSNormalization over the innermost axes, in fp32, in
// place where the input dies.
#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/norm/layer_rows.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

class LayerNorm final : public CpuKernel, public MovesToExtents<LayerNorm> {
 public:
  LayerNorm(const Problem& problem, const LayerFacts& facts)
      : rows_(*problem.group, problem.node(), facts),
        row_(facts.row),
        x_(static_cast<size_t>(std::find(problem.group->inputs.begin(), problem.group->inputs.end(),
                                         problem.node().inputs[0]) -
                               problem.group->inputs.begin())) {}

  bool MoveTo(const Problem& problem, const Device&) override {
    const Shape& x = problem.shape(problem.node().inputs[0]);
    for (int i = 0; i < row_.rank(); ++i)
      if (x[i] == 0 || (row_[i] != 1 && row_[i] != x[i])) return false;
    rows_.SetCount(x.elements() / rows_.length());
    return true;
  }

  std::vector<PackRequest> packs() const override { return rows_.packs(); }
  std::vector<Alias> aliases() const override {
    return {{.output = 0, .input = static_cast<int>(x_)}};
  }

  Status Run(const CpuLaunch& args) const override {
    const float* x = args.inputs[x_].host<float>();
    float* y = args.outputs[0].host<float>();
    const int64_t n = rows_.length();
    const RowTasks tasks = rows_.Tasks();
    args.stream.ParallelFor(tasks.count, [&](int64_t task, int) {
      const int64_t row = task * tasks.rows;
      rows_.Run(args, x + row * n, y + row * n, std::min(tasks.rows, rows_.count() - row));
    });
    return OkStatus();
  }

 private:
  LayerRows rows_;
  Shape row_;  // LayerFacts::row
  size_t x_;
};

Result<LayerFacts> Read(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(CheckNormNode(group));
  return ReadLayer(group, group.nodes()[0]);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const LayerFacts&,
                                            const Device&) {
  return std::vector<StateAssignment>{NormStates(group, Layout::RowMajor())};
}

constexpr Family<LayerFacts> kFamily{.read = Read,
                                     .states = States,
                                     .prepare = Make<LayerNorm>,
                                     .taste = Always<10>,
                                     .reads_callers_memory = true,
                                     .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuNormLayer;
const KernelDesc kCpuNormLayer = {.name = "cpu.norm.layer", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
