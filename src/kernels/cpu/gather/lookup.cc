// cpu.gather.elements and cpu.gather.tuples: GatherElements and GatherND over row-major tensors.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/operands.h"
#include "ops/element_access.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskElements = 16 << 10;

Result<std::vector<StateAssignment>> RowMajorOnly(const ir::Graph& group, std::string_view op) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != op)
    return Unsupported("computes {} alone", op);
  const DType dtype = group.value(group.nodes()[0].inputs[0]).dtype;
  if (!IsStored(dtype) || RowOf(dtype).bits > 64)
    return Unsupported("elements of type {} are not moved", DTypeName(dtype));
  return std::vector<StateAssignment>{RowMajorStates(group)};
}

/// Elements of data and indices fall into lines along the axis: [outer][axis][inner]. A line of the
/// indices reads one line of the data.
class GatherElements final : public PreparedKernel {
 public:
  explicit GatherElements(const Problem& problem)
      : group_(problem.group), operands_(*problem.group) {
    const ir::Node& node = problem.node();
    const Shape &x = problem.shape(node.inputs[0]), &i = problem.shape(node.inputs[1]);
    axis_ = *NormaliseAxis(node.attributes.Int("axis"), x.rank());
    data_ = x;
    indices_ = i;
    dtype_ = group_->value(node.inputs[0]).dtype;
    index_type_ = group_->value(node.inputs[1]).dtype;
    strides_ = RowMajorStrides(x);
  }

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

  Status Launch(const LaunchArgs& args) const override {
    const Indices indices{operands_.input(args, 1), index_type_};
    const int64_t count = indices_.elements();
    RETURN_IF_ERROR(CheckIndices(indices, count, data_[axis_]));
    const std::byte* src = operands_.input(args, 0);
    std::byte* dst = operands_.output(args, 0);
    const int64_t inner = indices_.Count(axis_ + 1, indices_.rank());
    const int64_t rows = inner == 0 ? 0 : count / inner;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(inner, 1));
    static_cast<CpuStream&>(args.stream)
        .ParallelFor((rows + per_task - 1) / per_task, [&](int64_t task, int) {
          ops::DispatchElementSize(dtype_, [&]<typename U>() {
            CopyRows(indices, task * per_task, std::min(rows, (task + 1) * per_task), inner,
                     reinterpret_cast<const U*>(src), reinterpret_cast<U*>(dst));
          });
        });
    return OkStatus();
  }

 private:
  /// Rows [begin, end) of the indices, each `inner` elements behind the axis.
  template <typename U>
  void CopyRows(const Indices& indices, int64_t begin, int64_t end, int64_t inner, const U* src,
                U* dst) const {
    const int64_t step = strides_[axis_];
    for (int64_t row = begin; row < end; ++row) {
      // The data element that index 0 names at the row's first position.
      int64_t base = 0, rest = row / indices_[axis_];
      for (int axis = axis_ - 1; axis >= 0; --axis) {
        base += rest % indices_[axis] * strides_[axis];
        rest /= indices_[axis];
      }
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t index = indices.Normal(row * inner + i, data_[axis_]);
        dst[row * inner + i] = src[base + index * step + InnerOffset(i)];
      }
    }
  }

  /// Where element `i` behind the axis lies in the data, whose extents may be larger.
  int64_t InnerOffset(int64_t i) const {
    int64_t offset = 0;
    for (int axis = indices_.rank() - 1; axis > axis_; --axis) {
      offset += i % indices_[axis] * strides_[axis];
      i /= indices_[axis];
    }
    return offset;
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  Shape data_, indices_;
  Dims strides_;
  DType dtype_, index_type_;
  int axis_;
};

/// Each tuple of indices names a contiguous slice of the data.
class GatherTuples final : public PreparedKernel {
 public:
  explicit GatherTuples(const Problem& problem) : group_(problem.group), operands_(*problem.group) {
    const ir::Node& node = problem.node();
    const Shape& indices = problem.shape(node.inputs[1]);
    const auto batch = static_cast<int>(node.attributes.Int("batch_dims"));
    layout_ = MakeIndexTuples(problem.shape(node.inputs[0]), indices, batch);
    slice_bytes_ = StorageBytes(group_->value(node.inputs[0]).dtype, layout_.slice);
    index_type_ = group_->value(node.inputs[1]).dtype;
  }

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

  Status Launch(const LaunchArgs& args) const override {
    const Indices indices{operands_.input(args, 1), index_type_};
    RETURN_IF_ERROR(layout_.Check(indices));
    const std::byte* src = operands_.input(args, 0);
    std::byte* dst = operands_.output(args, 0);
    const int64_t per_task =
        std::max<int64_t>(1, kTaskElements * 4 / std::max<int64_t>(slice_bytes_, 1));
    static_cast<CpuStream&>(args.stream)
        .ParallelFor((layout_.tuples + per_task - 1) / per_task, [&](int64_t task, int) {
          const int64_t end = std::min(layout_.tuples, (task + 1) * per_task);
          for (int64_t t = task * per_task; t < end; ++t) {
            std::memcpy(dst + t * slice_bytes_, src + layout_.SliceOf(indices, t) * slice_bytes_,
                        slice_bytes_);
          }
        });
    return OkStatus();
  }

 private:
  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  IndexTuples layout_;
  int64_t slice_bytes_ = 0;
  DType index_type_;
};

Result<std::vector<StateAssignment>> ElementCandidates(const ir::Graph& group, const Device&) {
  return RowMajorOnly(group, "GatherElements");
}
Result<std::vector<StateAssignment>> TupleCandidates(const ir::Graph& group, const Device&) {
  return RowMajorOnly(group, "GatherND");
}
Result<std::unique_ptr<PreparedKernel>> PrepareElements(const Problem& problem, const Params&,
                                                        const Device&) {
  return std::unique_ptr<PreparedKernel>(new GatherElements(problem));
}
Result<std::unique_ptr<PreparedKernel>> PrepareTuples(const Problem& problem, const Params&,
                                                      const Device&) {
  return std::unique_ptr<PreparedKernel>(new GatherTuples(problem));
}

}  // namespace

extern const KernelDesc kCpuGatherElements;
const KernelDesc kCpuGatherElements = {.name = "cpu.gather.elements",
                                       .preference = 10,
                                       .candidates = ElementCandidates,
                                       .prepare = PrepareElements};
extern const KernelDesc kCpuGatherTuples;
const KernelDesc kCpuGatherTuples = {.name = "cpu.gather.tuples",
                                     .preference = 10,
                                     .candidates = TupleCandidates,
                                     .prepare = PrepareTuples};

}  // namespace fettle::kernels
