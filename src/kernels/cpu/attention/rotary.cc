// cpu.attention.rotary: RotaryEmbedding of packed rows whose first positions are given at launch,
// in fp32: what decoders with a cache have. Other forms are spelled out
// (passes/rewrite/spell_rotary).
#include <algorithm>

#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/attention/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  ops::RotaryShape r;
  int64_t batch = 0, length = 0, firsts = 1, positions = 0, cache_row = 0;
};

/// Elements below which one lane turns them all.
constexpr int64_t kFewElements = 16384;

class Rotary final : public NodeKernel {
 public:
  Rotary(const Problem& problem, const Facts& facts) : NodeKernel(problem), f_(facts) {}

  Status Run(const CpuLaunch& args) const override {
    const auto* firsts = reinterpret_cast<const int64_t*>(operands().input(args, 3));
    for (int64_t i = 0; i < f_.firsts; ++i) {
      if (firsts[i] < 0 || firsts[i] > f_.positions - f_.length)
        return InvalidArgument("positions {} to {} lie outside the caches of {}", firsts[i],
                               firsts[i] + f_.length - 1, f_.positions);
    }
    const int64_t rows = f_.batch * f_.length, width = f_.r.heads * f_.r.size;
    const auto turn = [&](int64_t row) {
      Turn(args, row, firsts[f_.firsts == 1 ? 0 : row / f_.length] + row % f_.length);
    };
    if (rows * width <= kFewElements) {
      for (int64_t row = 0; row < rows; ++row) turn(row);
    } else {
      args.stream.ParallelFor(rows, [&](int64_t row, int) { turn(row); });
    }
    return OkStatus();
  }

 private:
  void Turn(const LaunchArgs& args, int64_t row, int64_t position) const {
    const int64_t size = f_.r.size, half = f_.r.rotated / 2;
    const auto at = [&](size_t input, int64_t offset) {
      return reinterpret_cast<const float*>(operands().input(args, input)) + offset;
    };
    const float* cosines = at(1, position * f_.cache_row);
    const float* sines = at(2, position * f_.cache_row);
    for (int64_t head = 0; head < f_.r.heads; ++head) {
      const int64_t offset = (row * f_.r.heads + head) * size;
      const float* x = at(0, offset);
      float* y = reinterpret_cast<float*>(operands().output(args, 0)) + offset;
      const int64_t next = f_.r.interleaved ? 1 : half, step = f_.r.interleaved ? 2 : 1;
      for (int64_t i = 0; i < half; ++i) {
        const float a = x[i * step], b = x[i * step + next];
        y[i * step] = a * cosines[i] - b * sines[i];
        y[i * step + next] = a * sines[i] + b * cosines[i];
      }
      std::copy(x + 2 * half, x + size, y + 2 * half);
    }
  }

  Facts f_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "RotaryEmbedding"_op)
    return Unsupported("computes RotaryEmbedding only");
  const ir::Node& node = group.nodes()[0];
  const auto value = [&](size_t i) -> const ir::Value& { return group.value(node.inputs[i]); };
  if (node.input(3) == ir::kAbsent || value(3).shape->rank() != 1 || value(3).dtype != DType::kI64)
    return Unsupported("positions that do not follow a first one");
  for (size_t i : {0, 1, 2}) {
    if (value(i).dtype != DType::kF32)
      return Unsupported("{} is not computed", DTypeName(value(i).dtype));
  }
  const Shape &x = *value(0).shape, &cosines = *value(1).shape;
  Facts facts;
  ASSIGN_OR_RETURN(facts.r, ops::ReadRotary(node, x, cosines));
  if (!facts.r.packed) return Unsupported("heads that are an axis");
  facts.batch = x[0];
  facts.length = x[1];
  facts.firsts = (*value(3).shape)[0];
  facts.positions = cosines[0];
  facts.cache_row = cosines[1];
  return facts;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Make<Rotary>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuAttentionRotary;
const KernelDesc kCpuAttentionRotary = {.name = "cpu.attention.rotary", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
