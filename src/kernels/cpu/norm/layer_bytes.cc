// compiled: small
// cpu.norm.layer.bytes: layer normalisation between DequantizeLinear and QuantizeLinear: the floats
// of a few rows stay in the first-level cache.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/cpu/norm/layer_rows.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  AffineGroup affine;
  LayerFacts layer;
};

class LayerNormBytes final : public CpuKernel {
 public:
  LayerNormBytes(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads),
        rows_(*problem.group, *facts.affine.node, facts.layer),
        from_(facts.affine.from),
        to_(facts.affine.to) {
    using elementwise::Fn;
    using elementwise::Source;
    const Source x{Source::kOperand, 0, 0};
    dequantise_ = {.fn = Fn::kDequantise,
                   .output = 0,
                   .a = x,
                   .b = {Source::kImmediate, 0, from_.zero},
                   .c = {Source::kImmediate, 0, from_.scale}};
    quantise_ = {.fn = Fn::kQuantise,
                 .output = 0,
                 .a = x,
                 .b = {Source::kImmediate, 0, to_.scale},
                 .c = {Source::kImmediate, 0, to_.zero},
                 .p0 = facts.affine.least(),
                 .p1 = facts.affine.greatest()};
  }

  std::vector<PackRequest> packs() const override { return rows_.packs(); }
  std::vector<Alias> aliases() const override { return {{.output = 0, .input = 0}}; }

  Status Run(const CpuLaunch& args) const override {
    const auto* x = args.inputs[0].host<std::byte>();
    auto* y = args.outputs[0].host<std::byte>();
    const int64_t n = rows_.length();
    const RowTasks tasks = rows_.Tasks();
    args.stream.ParallelFor(tasks.count, [&](int64_t task, int lane) {
      float* row = args.At(row_, lane);
      const int64_t first = task * tasks.rows;
      const int64_t rows = std::min(tasks.rows, rows_.count() - first);
      const elementwise::Window in{x + first * n, 0, 1, from_.storage};
      const elementwise::Window out{y + first * n, 0, 1, to_.storage};
      const elementwise::Window floats{row, 0, 1, DType::kF32};
      elementwise::Execute({&dequantise_, 1}, {&in, 1}, {&floats, 1}, 1, rows * n);
      rows_.Run(args, row, row, rows);
      elementwise::Execute({&quantise_, 1}, {&floats, 1}, {&out, 1}, 1, rows * n);
    });
    return OkStatus();
  }

 private:
  LayerRows rows_;
  AffineType from_, to_;
  elementwise::Instruction dequantise_, quantise_;
  LaneScratch<float> row_ = PerLane<float>(rows_.Tasks().rows * rows_.length());
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  Facts facts;
  ASSIGN_OR_RETURN(facts.affine, ReadAffineGroup(group));
  ASSIGN_OR_RETURN(facts.layer, ReadLayer(group, *facts.affine.node));
  if (!facts.affine.from.is_integer() || !facts.affine.to.is_integer())
    return Unsupported("no bytes");
  return facts;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Make<LayerNormBytes>,
                                .taste = Always<15>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuNormLayerBytes;
const KernelDesc kCpuNormLayerBytes = {.name = "cpu.norm.layer.bytes", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
