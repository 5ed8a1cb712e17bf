// cpu.top_k: a partial sort of positions per row.
#include <algorithm>
#include <numeric>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/operands.h"
#include "ops/select/op.h"

namespace fettle::kernels {
namespace {

class TopK final : public PreparedKernel {
 public:
  explicit TopK(const Problem& problem)
      : group_(problem.group), operands_(*problem.group), threads_(problem.threads) {
    const ir::Node& node = problem.node();
    const Shape& x = problem.shape(node.inputs[0]);
    const int axis = *NormaliseAxis(node.attributes.Int("axis", -1), x.rank());
    outer_ = x.Count(0, axis);
    extent_ = x[axis];
    inner_ = x.Count(axis + 1, x.rank());
    for (ir::ValueId id : node.outputs) {
      if (id != ir::kAbsent) k_ = problem.shape(id)[axis];
    }
    dtype_ = group_->value(node.inputs[0]).dtype;
    largest_ = node.attributes.Int("largest", 1) != 0;
  }

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }
  /// Per lane, the positions of one row.
  int64_t workspace_bytes() const override {
    return threads_ * extent_ * static_cast<int64_t>(sizeof(int64_t));
  }

  Status Launch(const LaunchArgs& args) const override {
    if (k_ == 0) return OkStatus();
    DispatchDType(dtype_, [&]<typename T>() {
      const T* src = reinterpret_cast<const T*>(operands_.input(args, 0));
      T* values = reinterpret_cast<T*>(operands_.output(args, 0));
      auto* indices = reinterpret_cast<int64_t*>(operands_.output(args, 1));
      static_cast<CpuStream&>(args.stream).ParallelFor(outer_ * inner_, [&](int64_t row, int lane) {
        const int64_t outer = row / inner_, inner = row % inner_;
        int64_t* order = args.workspace.host<int64_t>() + lane * extent_;
        const int64_t to = outer * k_ * inner_ + inner;
        Rank(src + outer * extent_ * inner_ + inner, order);
        for (int64_t i = 0; i < k_; ++i) {
          const int64_t at = outer * extent_ * inner_ + order[i] * inner_ + inner;
          if (values != nullptr) values[to + i * inner_] = src[at];
          if (indices != nullptr) indices[to + i * inner_] = order[i];
        }
      });
    });
    return OkStatus();
  }

 private:
  /// The first k positions of a row into order[0 .. k).
  template <typename T>
  void Rank(const T* row, int64_t* order) const {
    std::iota(order, order + extent_, 0);
    std::partial_sort(order, order + k_, order + extent_, [&](int64_t a, int64_t b) {
      const T x = row[a * inner_], y = row[b * inner_];
      if (ops::ComesFirst(x, y, largest_)) return true;
      if (ops::ComesFirst(y, x, largest_)) return false;
      return a < b;
    });
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  int threads_;
  int64_t outer_, extent_, inner_, k_ = 0;
  DType dtype_;
  bool largest_;
};

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "TopK"_op)
    return Unsupported("computes TopK alone");
  return std::vector<StateAssignment>{RowMajorStates(group)};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device&) {
  return std::unique_ptr<PreparedKernel>(new TopK(problem));
}

}  // namespace

extern const KernelDesc kCpuTopK;
const KernelDesc kCpuTopK = {
    .name = "cpu.top_k", .preference = 10, .candidates = Candidates, .prepare = Prepare};

}  // namespace fettle::kernels
