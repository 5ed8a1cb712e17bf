// cpu.gather.elements and cpu.gather.tuples: GatherElements and GatherND over row-major tensors.
#include <algorithm>
#include <atomic>

#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/gather/lines.h"
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

/// The parts [begin, end) of the lines; false where an index is out of range.
template <typename U, typename I>
bool GatherLines(const ElementLines& lines, int64_t begin, int64_t end, const I* indices,
                 const U* src, U* dst) {
  const int64_t extent = lines.extent(), step = lines.step(), along = lines.along();
  bool ok = true;
  lines.ForEach(begin, end, [&](int64_t first, int64_t count, int64_t base) {
    const I* from = indices + first;
    U* to = dst + first;
    const auto at = [&](int64_t i) {
      int64_t index = from[i];
      index += index < 0 ? extent : 0;
      const bool is_there = static_cast<uint64_t>(index) < static_cast<uint64_t>(extent);
      ok = ok && is_there;
      return is_there ? index : 0;
    };
    if (along == 0 && step == 1) {
      for (int64_t i = 0; i < count; ++i) to[i] = src[base + at(i)];
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = src[base + i * along + at(i) * step];
    }
  });
  return ok;
}

class GatherElements final : public NodeKernel {
 public:
  GatherElements(const Problem& problem, const ElementFacts& facts)
      : NodeKernel(problem),
        lines_(facts.data, facts.indices, facts.axis),
        count_(facts.indices.elements()),
        dtype_(facts.dtype),
        index_type_(facts.index_type) {}

  Status Run(const CpuLaunch& args) const override {
    const Indices indices{operands().input(args, 1), index_type_};
    if (lines_.extent() == 0 || count_ == 0) return CheckIndices(indices, count_, lines_.extent());
    const std::byte* src = operands().input(args, 0);
    std::byte* dst = operands().output(args, 0);
    std::atomic<bool> ok = true;
    const int64_t per_task = std::max<int64_t>(1, lines_.parts() * kTaskElements / count_);
    args.stream.ParallelFor((lines_.parts() + per_task - 1) / per_task, [&](int64_t task, int) {
      const int64_t begin = task * per_task, end = std::min(lines_.parts(), begin + per_task);
      WithTypedIndices(indices, [&](const auto* typed) {
        ops::DispatchElementSize(dtype_, [&]<typename U>() {
          if (!GatherLines(lines_, begin, end, typed, reinterpret_cast<const U*>(src),
                           reinterpret_cast<U*>(dst)))
            ok = false;
        });
      });
    });
    return ok ? OkStatus() : CheckIndices(indices, count_, lines_.extent());
  }

 private:
  ElementLines lines_;
  int64_t count_;
  DType dtype_, index_type_;
};

/// Each tuple of indices names a contiguous slice of the data.
class GatherTuples final : public NodeKernel {
 public:
  GatherTuples(const Problem& problem, const TupleFacts& facts)
      : NodeKernel(problem), facts_(facts) {}

  Status Run(const CpuLaunch& args) const override {
    const Indices indices{operands().input(args, 1), facts_.index_type};
    if (facts_.slice_bytes == 0) return OkStatus();
    const std::byte* src = operands().input(args, 0);
    std::byte* dst = operands().output(args, 0);
    std::atomic<bool> ok = true;
    const int64_t per_task =
        std::max<int64_t>(1, kTaskElements * 4 / std::max<int64_t>(facts_.slice_bytes, 1));
    args.stream.ParallelFor(
        (facts_.tuples.tuples + per_task - 1) / per_task, [&](int64_t task, int) {
          const int64_t end = std::min(facts_.tuples.tuples, (task + 1) * per_task);
          const int64_t bytes = facts_.slice_bytes;
          WithTypedIndices(indices, [&](const auto* typed) {
            for (int64_t t = task * per_task; t < end; ++t) {
              const int64_t slice = facts_.tuples.SliceOf(typed, t);
              if (slice < 0) {
                ok = false;
              } else {
                CopySlice(dst + t * bytes, src + slice * bytes, bytes);
              }
            }
          });
        });
    return ok ? OkStatus() : facts_.tuples.Check(indices);
  }

 private:
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
