// cpu.gather.elements and cpu.gather.tuples: GatherElements and GatherND over row-major tensors.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/element_access.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskElements = 16 << 10;

/// The one node of `op`, whose elements are of a type that is moved.
Result<const ir::Node*> ReadNode(const ir::Graph& group, std::string_view op) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != op)
    return Unsupported("computes {} only", op);
  const DType dtype = group.value(group.nodes()[0].inputs[0]).dtype;
  if (!IsStored(dtype) || RowOf(dtype).bits > 64)
    return Unsupported("elements of type {} are not moved", DTypeName(dtype));
  return &group.nodes()[0];
}

struct ElementFacts {
  Shape data, indices;
  DType dtype, index_type;
  int axis;
};

struct TupleFacts {
  IndexTuples tuples;
  int64_t slice_bytes;
  DType index_type;
};

/// Elements of data and indices fall into lines along the axis: [outer][axis][inner]. A line of the
/// indices reads one line of the data.
class GatherElements final : public PreparedKernel {
 public:
  GatherElements(const Problem& problem, const ElementFacts& facts)
      : group_(problem.group),
        operands_(*problem.group),
        data_(facts.data),
        indices_(facts.indices),
        strides_(RowMajorStrides(facts.data)),
        dtype_(facts.dtype),
        index_type_(facts.index_type),
        axis_(facts.axis) {}

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
  GatherTuples(const Problem& problem, const TupleFacts& facts)
      : group_(problem.group), operands_(*problem.group), facts_(facts) {}

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

  Status Launch(const LaunchArgs& args) const override {
    const Indices indices{operands_.input(args, 1), facts_.index_type};
    RETURN_IF_ERROR(facts_.tuples.Check(indices));
    const std::byte* src = operands_.input(args, 0);
    std::byte* dst = operands_.output(args, 0);
    const int64_t per_task =
        std::max<int64_t>(1, kTaskElements * 4 / std::max<int64_t>(facts_.slice_bytes, 1));
    static_cast<CpuStream&>(args.stream)
        .ParallelFor((facts_.tuples.tuples + per_task - 1) / per_task, [&](int64_t task, int) {
          const int64_t end = std::min(facts_.tuples.tuples, (task + 1) * per_task);
          const int64_t bytes = facts_.slice_bytes;
          for (int64_t t = task * per_task; t < end; ++t) {
            std::memcpy(dst + t * bytes, src + facts_.tuples.SliceOf(indices, t) * bytes,
                        static_cast<size_t>(bytes));
          }
        });
    return OkStatus();
  }

 private:
  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  TupleFacts facts_;
};

Result<ElementFacts> ReadElements(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ir::Node* node, ReadNode(group, "GatherElements"));
  const ir::Value &data = group.value(node->inputs[0]), &indices = group.value(node->inputs[1]);
  const int axis = *NormaliseAxis(node->attributes.Int("axis"), data.shape->rank());
  return ElementFacts{*data.shape, *indices.shape, data.dtype, indices.dtype, axis};
}

Result<TupleFacts> ReadTuples(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ir::Node* node, ReadNode(group, "GatherND"));
  const ir::Value &data = group.value(node->inputs[0]), &indices = group.value(node->inputs[1]);
  const auto batch = static_cast<int>(node->attributes.Int("batch_dims"));
  TupleFacts facts{.tuples = MakeIndexTuples(*data.shape, *indices.shape, batch),
                   .index_type = indices.dtype};
  facts.slice_bytes = facts.tuples.slice * ByteSize(data.dtype);
  return facts;
}

constexpr Family<ElementFacts> kElements{.read = ReadElements,
                                         .states = RowMajorAlone,
                                         .prepare = Make<GatherElements>,
                                         .taste = Always<10>,
                                         .reads_callers_memory = true};
constexpr Family<TupleFacts> kTuples{.read = ReadTuples,
                                     .states = RowMajorAlone,
                                     .prepare = Make<GatherTuples>,
                                     .taste = Always<10>,
                                     .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuGatherElements;
const KernelDesc kCpuGatherElements = {.name = "cpu.gather.elements", .match = MatchAs<kElements>};
extern const KernelDesc kCpuGatherTuples;
const KernelDesc kCpuGatherTuples = {.name = "cpu.gather.tuples", .match = MatchAs<kTuples>};

}  // namespace fettle::kernels
