// compiled: small
// cpu.norm.lrn: local response normalisation across channels, in fp32.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/norm/rows.h"
#include "kernels/family.h"
#include "ops/norm/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kColumnsPerTask = 256;

struct Facts {
  int rank;
  int64_t batch, space;
  ResponseWindow window;
};

class Lrn final : public CpuKernel {
 public:
  Lrn(const Problem& problem, const Facts& facts, bool channels_last)
      : CpuKernel(problem.threads),
        batch_(facts.batch),
        space_(facts.space),
        channels_last_(channels_last),
        window_(facts.window) {}

  Status Run(const CpuLaunch& args) const override {
    if (batch_ * space_ * window_.channels == 0) return OkStatus();
    const float* x = args.inputs[0].host<float>();
    float* y = args.outputs[0].host<float>();
    if (channels_last_) {
      const int64_t pixels = batch_ * space_;
      const int64_t per_task = std::max<int64_t>(1, 8192 / window_.channels);
      args.stream.ParallelFor((pixels + per_task - 1) / per_task, [&](int64_t task, int lane) {
        float* squares = args.At(squares_, lane);
        const int64_t end = std::min(pixels, (task + 1) * per_task);
        for (int64_t p = task * per_task; p < end; ++p)
          ResponsePixel(window_, x + p * window_.channels, y + p * window_.channels, squares);
      });
      return OkStatus();
    }
    const int64_t pieces = (space_ + kColumnsPerTask - 1) / kColumnsPerTask;
    args.stream.ParallelFor(batch_ * pieces, [&](int64_t task, int) {
      const int64_t column = task % pieces * kColumnsPerTask;
      const int64_t at = task / pieces * window_.channels * space_ + column;
      ResponseColumns(window_, x + at, y + at, space_, std::min(kColumnsPerTask, space_ - column));
    });
    return OkStatus();
  }

 private:
  int64_t batch_, space_;
  bool channels_last_;
  ResponseWindow window_;
  LaneScratch<float> squares_ =
      PerLane<float>(channels_last_ ? window_.channels + window_.before + window_.after : 0);
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(CheckNormNode(group));
  if (group.nodes()[0].op != "LRN"_op)
    return Unsupported("computes local response normalisations only");
  ASSIGN_OR_RETURN(const ops::LrnAttributes lrn, ops::ReadLrn(group.nodes()[0]));
  if (!(lrn.bias > 0) || lrn.alpha < 0) return Unsupported("a base that may not be positive");
  const Shape& x = *group.value(group.nodes()[0].inputs[0]).shape;
  return Facts{
      x.rank(), x[0], x.Count(2, x.rank()),
      ResponseWindow{.channels = x[1],
                     .before = (lrn.size - 1) / 2,
                     .after = lrn.size / 2,
                     .alpha = static_cast<float>(lrn.alpha / static_cast<double>(lrn.size)),
                     .beta = static_cast<float>(lrn.beta),
                     .bias = static_cast<float>(lrn.bias)}};
}

/// No blocks: the window over channels would reach over them.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  std::vector<StateAssignment> states{NormStates(group, Layout::ChannelsLast(facts.rank))};
  if (facts.rank >= 3) states.push_back(NormStates(group, Layout::RowMajor()));
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const bool channels_last = facts.rank < 3 || !problem.states.outputs[0].layout.IsRowMajor();
  return std::unique_ptr<PreparedKernel>(new Lrn(problem, facts, channels_last));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuNormLrn;
const KernelDesc kCpuNormLrn = {.name = "cpu.norm.lrn", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
