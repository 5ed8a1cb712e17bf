// cpu.cumulate: CumSum and CumProd along any axis; floats in double, as the oracle.
#include <algorithm>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Sums side by side: those of a task.
constexpr int64_t kColumns = 512;

struct Facts {
  Shape x;
  DType storage;
  bool product, exclusive, reverse;
};

class Cumulate final : public NodeKernel {
 public:
  Cumulate(const Problem& problem, const Facts& facts) : NodeKernel(problem), facts_(facts) {
    axis_type_ = problem.group->value(problem.node().inputs[1]).dtype;
  }

  Status Launch(const LaunchArgs& args) const override {
    const HostView value{const_cast<std::byte*>(operands().input(args, 1)), axis_type_, {}, {}};
    const std::optional<int> axis = NormaliseAxis(value.GetInt(0), facts_.x.rank());
    if (!axis) return InvalidArgument("axis {} is out of range", value.GetInt(0));
    switch (facts_.storage) {
      case DType::kF32: Run<float, double>(args, *axis); break;
      case DType::kF64: Run<double, double>(args, *axis); break;
      case DType::kI32:
      case DType::kU32: Run<uint32_t, uint32_t>(args, *axis); break;
      default: Run<uint64_t, uint64_t>(args, *axis); break;
    }
    return OkStatus();
  }

 private:
  template <typename T, typename W>
  void Run(const LaunchArgs& args, int axis) const {
    const T* x = reinterpret_cast<const T*>(operands().input(args, 0));
    T* y = reinterpret_cast<T*>(operands().output(args, 0));
    const RowExtents extents{facts_.x.Count(0, axis), facts_.x[axis],
                             facts_.x.Count(axis + 1, facts_.x.rank())};
    ForColumns(static_cast<CpuStream&>(args.stream), extents, kColumns,
               [&](int64_t at, int64_t columns) {
                 facts_.product ? Columns<T, W, true>(x + at, extents, columns, y + at)
                                : Columns<T, W, false>(x + at, extents, columns, y + at);
               });
  }

  template <typename T, typename W, bool kProduct>
  void Columns(const T* x, const RowExtents& extents, int64_t columns, T* y) const {
    const int64_t extent = extents.row, inner = extents.inner;
    const int64_t step = facts_.reverse ? -inner : inner;
    const int64_t first = facts_.reverse ? (extent - 1) * inner : 0;
    if (columns == 1) {
      Line<T, W, kProduct>(x + first, extent, step, y + first);
      return;
    }
    W sums[kColumns];
    std::fill_n(sums, columns, W{kProduct ? 1 : 0});
    for (int64_t r = 0; r < extent; ++r) {
      const T* from = x + first + r * step;
      T* to = y + first + r * step;
      if (facts_.exclusive) {
        for (int64_t i = 0; i < columns; ++i) {
          const W before = sums[i];
          sums[i] = kProduct ? before * static_cast<W>(from[i]) : before + static_cast<W>(from[i]);
          to[i] = static_cast<T>(before);
        }
      } else {
        for (int64_t i = 0; i < columns; ++i) {
          sums[i] =
              kProduct ? sums[i] * static_cast<W>(from[i]) : sums[i] + static_cast<W>(from[i]);
          to[i] = static_cast<T>(sums[i]);
        }
      }
    }
  }

  /// One column: its sum stays in a register.
  template <typename T, typename W, bool kProduct>
  void Line(const T* x, int64_t extent, int64_t step, T* y) const {
    W sum{kProduct ? 1 : 0};
    for (int64_t at = 0; at != extent * step; at += step) {
      const W before = sum;
      sum = kProduct ? sum * static_cast<W>(x[at]) : sum + static_cast<W>(x[at]);
      y[at] = static_cast<T>(facts_.exclusive ? before : sum);
    }
  }

  Facts facts_;
  DType axis_type_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::Node& node = group.nodes()[0];
  if (node.op != "CumSum"_op && node.op != "CumProd"_op)
    return Unsupported("computes CumSum and CumProd only");
  const ir::Value& x = group.value(node.inputs[0]);
  DType storage = x.dtype;
  if (storage == DType::kF16 || storage == DType::kBF16) storage = DType::kF32;
  if (x.is_constant() && storage != x.dtype) return Unsupported("constant halves");
  const bool is_float = storage == DType::kF32 || storage == DType::kF64;
  if (!is_float && !(IsInteger(storage) && ByteSize(storage) >= 4))
    return Unsupported("{} is not summed up here", DTypeName(x.dtype));
  return Facts{*x.shape, storage, node.op == "CumProd"_op, node.attributes.Int("exclusive", 0) != 0,
               node.attributes.Int("reverse", 0) != 0};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<Cumulate>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuCumulate;
const KernelDesc kCpuCumulate = {.name = "cpu.cumulate", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
