// compiled: small
// cpu.cumulate: CumSum and CumProd along any axis; floats in double, as the oracle.
#include <algorithm>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduce/cumulate_rows.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

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

  Status Run(const CpuLaunch& args) const override {
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
  void Run(const CpuLaunch& args, int axis) const {
    const T* x = reinterpret_cast<const T*>(operands().input(args, 0));
    T* y = reinterpret_cast<T*>(operands().output(args, 0));
    RowExtents extents{facts_.x.Count(0, axis), facts_.x[axis],
                       facts_.x.Count(axis + 1, facts_.x.rank())};
    if (extents.row == 1) extents = {1, 1, extents.elements()};
    if (extents.elements() == 0) return;
    const int64_t first = facts_.reverse ? (extents.row - 1) * extents.inner : 0;
    const CumulateBlock block{.storage = DTypeOf<T>(),
                              .exclusive = facts_.exclusive,
                              .x = nullptr,
                              .y = nullptr,
                              .rows = extents.row,
                              .columns = extents.inner,
                              .step = facts_.reverse ? -extents.inner : extents.inner,
                              .unit_step = extents.row * extents.inner};
    const auto run = [&](CumulateBlock part, int64_t at) {
      part.x = reinterpret_cast<const std::byte*>(x + at + first);
      part.y = reinterpret_cast<std::byte*>(y + at + first);
      CumulateRows(part);
    };
    if (extents.inner > kCumulateColumns && !facts_.product) {
      ForColumns(args.stream, extents, kCumulateColumns, [&](int64_t at, int64_t columns) {
        CumulateBlock part = block;
        part.columns = columns;
        run(part, at);
      });
      return;
    }
    const RowTasks tasks = TasksOfRows(extents.outer, block.unit_step);
    args.stream.ParallelFor(tasks.count, [&](int64_t task, int) {
      const int64_t begin = task * tasks.rows, end = std::min(begin + tasks.rows, extents.outer);
      if (facts_.product) return Products<T, W>(begin, end, extents, x, y);
      CumulateBlock part = block;
      part.units = end - begin;
      run(part, begin * block.unit_step);
    });
  }

  /// The columns of units [begin, end), one after the other.
  template <typename T, typename W>
  void Products(int64_t begin, int64_t end, const RowExtents& extents, const T* x, T* y) const {
    const int64_t n = extents.row, inner = extents.inner;
    const int64_t step = facts_.reverse ? -inner : inner;
    const int64_t first = facts_.reverse ? (n - 1) * inner : 0;
    for (int64_t unit = begin; unit < end; ++unit) {
      for (int64_t at = unit * n * inner + first, last = at + inner; at < last; ++at)
        Line<T, W>(x + at, n, step, y + at);
    }
  }

  /// One column: its product stays in a register.
  template <typename T, typename W>
  void Line(const T* x, int64_t extent, int64_t step, T* y) const {
    const bool exclusive = facts_.exclusive;
    W product{1};
    for (int64_t at = 0; at != extent * step; at += step) {
      const W before = product;
      product *= static_cast<W>(x[at]);
      y[at] = static_cast<T>(exclusive ? before : product);
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
