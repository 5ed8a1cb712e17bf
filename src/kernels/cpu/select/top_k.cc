// cpu.top_k: a partial sort of positions per row.
#include <algorithm>
#include <numeric>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"
#include "ops/select/op.h"

namespace fettle::kernels {
namespace {

/// The first `k` of each row of an input [outer, extent, inner].
struct Selection {
  int64_t outer, extent, inner, k = 0;
  DType dtype;
  bool largest;
};

class TopK final : public PreparedKernel {
 public:
  TopK(const Problem& problem, const Selection& selection)
      : group_(problem.group),
        operands_(*problem.group),
        threads_(problem.threads),
        of_(selection) {}

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }
  /// Per lane, the positions of one row.
  int64_t workspace_bytes() const override {
    return threads_ * of_.extent * static_cast<int64_t>(sizeof(int64_t));
  }

  Status Launch(const LaunchArgs& args) const override {
    if (of_.k == 0) return OkStatus();
    DispatchDType(of_.dtype, [&]<typename T>() {
      const T* src = reinterpret_cast<const T*>(operands_.input(args, 0));
      T* values = reinterpret_cast<T*>(operands_.output(args, 0));
      auto* indices = reinterpret_cast<int64_t*>(operands_.output(args, 1));
      static_cast<CpuStream&>(args.stream)
          .ParallelFor(of_.outer * of_.inner, [&](int64_t row, int lane) {
            const int64_t outer = row / of_.inner, inner = row % of_.inner;
            int64_t* order = args.workspace.host<int64_t>() + lane * of_.extent;
            const int64_t to = outer * of_.k * of_.inner + inner;
            const int64_t from = outer * of_.extent * of_.inner + inner;
            Rank(src + from, order);
            for (int64_t i = 0; i < of_.k; ++i) {
              if (values != nullptr) values[to + i * of_.inner] = src[from + order[i] * of_.inner];
              if (indices != nullptr) indices[to + i * of_.inner] = order[i];
            }
          });
    });
    return OkStatus();
  }

 private:
  /// The first k positions of a row into order[0 .. k).
  template <typename T>
  void Rank(const T* row, int64_t* order) const {
    std::iota(order, order + of_.extent, 0);
    std::partial_sort(order, order + of_.k, order + of_.extent, [&](int64_t a, int64_t b) {
      const T x = row[a * of_.inner], y = row[b * of_.inner];
      if (ops::ComesFirst(x, y, of_.largest)) return true;
      if (ops::ComesFirst(y, x, of_.largest)) return false;
      return a < b;
    });
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  int threads_;
  Selection of_;
};

Result<Selection> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "TopK"_op)
    return Unsupported("computes TopK only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& value = group.value(node.inputs[0]);
  const Shape& x = *value.shape;
  const int axis = *NormaliseAxis(node.attributes.Int("axis", -1), x.rank());
  Selection selection{.outer = x.Count(0, axis),
                      .extent = x[axis],
                      .inner = x.Count(axis + 1, x.rank()),
                      .dtype = value.dtype,
                      .largest = node.attributes.Int("largest", 1) != 0};
  for (ir::ValueId id : node.outputs) {
    if (id != ir::kAbsent) selection.k = (*group.value(id).shape)[axis];
  }
  return selection;
}

constexpr Family<Selection> kFamily{.read = Read,
                                    .states = RowMajorAlone,
                                    .prepare = Make<TopK>,
                                    .taste = Always<10>,
                                    .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuTopK;
const KernelDesc kCpuTopK = {.name = "cpu.top_k", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
