// compiled: small
// cpu.one_hot: fills with the off value, then writes one on value per index.
#include <algorithm>

#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskElements = 32 << 10;

/// The output as [outer, depth, inner].
struct Classes {
  int64_t outer, depth, inner;
  DType dtype, index_type;
};

class OneHot final : public NodeKernel {
 public:
  OneHot(const Problem& problem, const Classes& classes) : NodeKernel(problem), classes_(classes) {}

  Status Run(const CpuLaunch& args) const override {
    const std::byte *indices = operands().input(args, 0), *values = operands().input(args, 2);
    std::byte* dst = operands().output(args, 0);
    const int64_t block = classes_.depth * classes_.inner;
    if (block == 0) return OkStatus();
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / block);
    args.stream.ParallelFor((classes_.outer + per_task - 1) / per_task, [&](int64_t task, int) {
      const int64_t begin = task * per_task, end = std::min(classes_.outer, begin + per_task);
      ops::DispatchElementSize(classes_.dtype, [&]<typename U>() {
        DispatchDType(classes_.index_type, [&]<typename I>() {
          Write(reinterpret_cast<const I*>(indices), reinterpret_cast<const U*>(values), begin, end,
                reinterpret_cast<U*>(dst));
        });
      });
    });
    return OkStatus();
  }

 private:
  template <typename I, typename U>
  void Write(const I* indices, const U* values, int64_t begin, int64_t end, U* dst) const {
    const int64_t inners = classes_.inner, block = classes_.depth * inners;
    const auto depth = static_cast<double>(classes_.depth);
    std::fill(dst + begin * block, dst + end * block, values[0]);
    for (int64_t outer = begin; outer < end; ++outer) {
      for (int64_t inner = 0; inner < inners; ++inner) {
        auto index = static_cast<double>(Widen(indices[outer * inners + inner]));
        if (index < 0) index += depth;
        // Fractions are no class, and what lies outside of the depth stays off.
        if (!(index >= 0 && index < depth)) continue;
        const auto at = static_cast<int64_t>(index);
        if (static_cast<double>(at) != index) continue;
        dst[outer * block + at * inners + inner] = values[1];
      }
    }
  }

  Classes classes_;
};

Result<Classes> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "OneHot"_op)
    return Unsupported("computes OneHot only");
  const ir::Node& node = group.nodes()[0];
  const Shape& y = *group.value(node.outputs[0]).shape;
  const int axis = *NormaliseAxis(node.attributes.Int("axis", -1), y.rank());
  return Classes{y.Count(0, axis), y[axis], y.Count(axis + 1, y.rank()),
                 group.value(node.outputs[0]).dtype, group.value(node.inputs[0]).dtype};
}

constexpr Family<Classes> kFamily{.read = Read,
                                  .states = RowMajorAlone,
                                  .prepare = Make<OneHot>,
                                  .taste = Always<10>,
                                  .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuOneHot;
const KernelDesc kCpuOneHot = {.name = "cpu.one_hot", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
