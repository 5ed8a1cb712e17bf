// cpu.one_hot: fills with the off value, then writes one on value per index.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/operands.h"
#include "ops/element_access.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskElements = 32 << 10;

class OneHot final : public PreparedKernel {
 public:
  explicit OneHot(const Problem& problem) : group_(problem.group), operands_(*problem.group) {
    const ir::Node& node = problem.node();
    const Shape& y = problem.shape(node.outputs[0]);
    const int axis = *NormaliseAxis(node.attributes.Int("axis", -1), y.rank());
    outer_ = y.Count(0, axis);
    depth_ = y[axis];
    inner_ = y.Count(axis + 1, y.rank());
    dtype_ = group_->value(node.outputs[0]).dtype;
    index_type_ = group_->value(node.inputs[0]).dtype;
  }

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

  Status Launch(const LaunchArgs& args) const override {
    const std::byte *indices = operands_.input(args, 0), *values = operands_.input(args, 2);
    std::byte* dst = operands_.output(args, 0);
    const int64_t block = depth_ * inner_;
    if (block == 0) return OkStatus();
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / block);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor((outer_ + per_task - 1) / per_task, [&](int64_t task, int) {
          const int64_t begin = task * per_task, end = std::min(outer_, begin + per_task);
          ops::DispatchElementSize(dtype_, [&]<typename U>() {
            DispatchDType(index_type_, [&]<typename I>() {
              Write(reinterpret_cast<const I*>(indices), reinterpret_cast<const U*>(values), begin,
                    end, reinterpret_cast<U*>(dst));
            });
          });
        });
    return OkStatus();
  }

 private:
  template <typename I, typename U>
  void Write(const I* indices, const U* values, int64_t begin, int64_t end, U* dst) const {
    const int64_t block = depth_ * inner_;
    std::fill(dst + begin * block, dst + end * block, values[0]);
    for (int64_t outer = begin; outer < end; ++outer) {
      for (int64_t inner = 0; inner < inner_; ++inner) {
        auto index = static_cast<double>(Widen(indices[outer * inner_ + inner]));
        if (index < 0) index += static_cast<double>(depth_);
        // Fractions are no class, and what lies outside of the depth stays off.
        if (!(index >= 0 && index < static_cast<double>(depth_))) continue;
        const auto at = static_cast<int64_t>(index);
        if (static_cast<double>(at) != index) continue;
        dst[outer * block + at * inner_ + inner] = values[1];
      }
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  int64_t outer_, depth_, inner_;
  DType dtype_, index_type_;
};

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "OneHot"_op)
    return Unsupported("computes OneHot alone");
  return std::vector<StateAssignment>{RowMajorStates(group)};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device&) {
  return std::unique_ptr<PreparedKernel>(new OneHot(problem));
}

}  // namespace

extern const KernelDesc kCpuOneHot;
const KernelDesc kCpuOneHot = {
    .name = "cpu.one_hot", .preference = 10, .candidates = Candidates, .prepare = Prepare};

}  // namespace fettle::kernels
