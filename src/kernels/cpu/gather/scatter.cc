// cpu.scatter.elements and cpu.scatter.tuples: ScatterElements and ScatterND over row-major
// tensors, in place where the data is not needed any more.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/elementwise/typed_rows.h"
#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/gather/lines.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskBytes = 128 << 10;

/// Copies the data to the output, unless they are the same memory.
void CopyData(const std::byte* src, std::byte* dst, int64_t bytes, CpuStream& stream) {
  if (src == dst) return;
  stream.ParallelFor((bytes + kTaskBytes - 1) / kTaskBytes, [&](int64_t task, int) {
    const int64_t begin = task * kTaskBytes;
    std::memcpy(dst + begin, src + begin, std::min(kTaskBytes, bytes - begin));
  });
}

struct Facts {
  Shape data, indices;
  DType index_type;
  ops::Reduction reduction;
};

struct ElementFacts : Facts {
  int axis = 0;
};

struct TupleFacts : Facts {
  IndexTuples tuples;
  std::shared_ptr<const Constant> constant;  // the indices; null: read at launch
};

class Scatter : public NodeKernel {
 public:
  Scatter(const Problem& problem, const Facts& facts)
      : NodeKernel(problem),
        data_(facts.data),
        indices_(facts.indices),
        dtype_(problem.states.outputs[0].storage),
        index_type_(facts.index_type),
        reduction_(facts.reduction) {}

  std::vector<PackRequest> packs() const override {
    return operands().packs(group(), dtype_ == DType::kF32 ? PackedAsFloats : PackedAsIs);
  }

  std::vector<Alias> aliases() const override {
    const ir::ValueId data = group().nodes()[0].inputs[0];
    for (size_t i = 0; i < group().inputs.size(); ++i) {
      if (group().inputs[i] == data) return {{.output = 0, .input = static_cast<int>(i)}};
    }
    return {};
  }

  Status Run(const CpuLaunch& args) const override {
    const Indices indices{operands().input(args, 1), index_type_};
    std::byte* dst = operands().output(args, 0);
    CopyData(operands().input(args, 0), dst, StorageBytes(dtype_, data_.elements()), args.stream);
    return Update(indices, operands().input(args, 2), dst);
  }

 protected:
  /// Applies the updates in order, so that duplicates give what the reference gives. Fails where an
  /// index is out of range; some updates may be there then.
  virtual Status Update(const Indices& indices, const std::byte* updates, std::byte* dst) const = 0;

  Shape data_, indices_;
  DType dtype_, index_type_;
  ops::Reduction reduction_;
};

class ScatterElements final : public Scatter {
 public:
  ScatterElements(const Problem& problem, const ElementFacts& facts)
      : Scatter(problem, facts), lines_(data_, indices_, facts.axis) {}

 protected:
  Status Update(const Indices& indices, const std::byte* updates, std::byte* dst) const override {
    const int64_t count = indices_.elements();
    RETURN_IF_ERROR(CheckIndices(indices, count, lines_.extent()));
    if (count == 0) return OkStatus();
    if (reduction_ == ops::Reduction::kNone) {
      ops::DispatchElementSize(dtype_, [&]<typename U>() {
        WithTypedIndices(indices, [&](const auto* typed) {
          Store(
              reinterpret_cast<const U*>(updates), reinterpret_cast<U*>(dst),
              [typed](int64_t i) -> int64_t { return typed[i]; }, [](U, U b) { return b; });
        });
      });
      return OkStatus();
    }
    DispatchDType(dtype_, [&]<typename T>() {
      Store(
          reinterpret_cast<const T*>(updates), reinterpret_cast<T*>(dst),
          [&](int64_t i) { return indices[i]; },
          [this](T a, T b) { return ops::Reduce(reduction_, a, b); });
    });
    return OkStatus();
  }

 private:
  template <typename T, typename Index, typename Join>
  void Store(const T* from, T* to, Index&& index, Join&& join) const {
    const int64_t extent = lines_.extent(), step = lines_.step(), along = lines_.along();
    lines_.ForEach(0, lines_.parts(), [&](int64_t first, int64_t count, int64_t base) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t at = index(first + i);
        at += at < 0 ? extent : 0;
        T& held = to[base + i * along + at * step];
        held = join(held, from[first + i]);
      }
    });
  }

  ElementLines lines_;
};

class ScatterTuples final : public Scatter {
 public:
  ScatterTuples(const Problem& problem, const TupleFacts& facts)
      : Scatter(problem, facts),
        tuples_(facts.tuples),
        runs_(FindSliceRuns(facts.tuples, facts.constant.get())),
        row_(IsInteger(dtype_) ? elementwise::FindShortRow(dtype_, NameOf(reduction_)) : nullptr) {}

 protected:
  Status Update(const Indices& indices, const std::byte* updates, std::byte* dst) const override {
    for (const SliceRun& run : runs_) UpdateRun(run, updates, dst);
    if (!runs_.empty() || tuples_.slice == 0) return OkStatus();
    if (tuples_.slice == 1 && reduction_ != ops::Reduction::kNone) {
      switch (dtype_) {
        case DType::kF32: return ReduceElements<float>(indices, updates, dst);
        case DType::kI64: return ReduceElements<int64_t>(indices, updates, dst);
        default: break;
      }
    }
    for (int64_t t = 0; t < tuples_.tuples; ++t) {
      const int64_t slice =
          WithTypedIndices(indices, [&](const auto* typed) { return tuples_.SliceOf(typed, t); });
      if (slice < 0) return tuples_.Check(indices);
      UpdateRun({t, slice, 1}, updates, dst);
    }
    return OkStatus();
  }

 private:
  static constexpr int64_t kSlicesAtOnce = 256;

  static std::string_view NameOf(ops::Reduction reduction) {
    switch (reduction) {
      case ops::Reduction::kAdd: return "Add";
      case ops::Reduction::kMul: return "Mul";
      case ops::Reduction::kMax: return "Max";
      case ops::Reduction::kMin: return "Min";
      default: return "";
    }
  }

  /// Those of n tuples from `first` on; whether all are in range.
  [[gnu::noinline]] bool FindSlices(const Indices& indices, int64_t first, int64_t n,
                                    int64_t* slices) const {
    return WithTypedIndices(indices, [&](const auto* typed) {
      int64_t signs = 0;
      for (int64_t i = 0; i < n; ++i) signs |= slices[i] = tuples_.SliceOf(typed, first + i);
      return signs >= 0;
    });
  }

  /// Slices of one element: calls for each would take longer than what they do.
  template <typename T>
  Status ReduceElements(const Indices& indices, const std::byte* updates, std::byte* dst) const {
    const T* from = reinterpret_cast<const T*>(updates);
    T* to = reinterpret_cast<T*>(dst);
    int64_t slices[kSlicesAtOnce];
    for (int64_t t = 0; t < tuples_.tuples; t += kSlicesAtOnce) {
      const int64_t n = std::min(kSlicesAtOnce, tuples_.tuples - t);
      if (!FindSlices(indices, t, n, slices)) return tuples_.Check(indices);
      const auto each = [&](auto join) {
        for (int64_t i = 0; i < n; ++i) to[slices[i]] = join(to[slices[i]], from[t + i]);
      };
      using enum ops::Reduction;
      switch (reduction_) {
        case kAdd: each([](T a, T b) { return ops::Reduce(kAdd, a, b); }); break;
        case kMul: each([](T a, T b) { return ops::Reduce(kMul, a, b); }); break;
        case kMax: each([](T a, T b) { return ops::Reduce(kMax, a, b); }); break;
        default: each([](T a, T b) { return ops::Reduce(kMin, a, b); });
      }
    }
    return OkStatus();
  }

  void UpdateRun(const SliceRun& run, const std::byte* updates, std::byte* dst) const {
    const int64_t bytes = StorageBytes(dtype_, tuples_.slice), n = run.count * tuples_.slice;
    const std::byte* from = updates + run.tuple * bytes;
    std::byte* to = dst + run.slice * bytes;
    if (reduction_ == ops::Reduction::kNone) return CopySlice(to, from, run.count * bytes);
    if (row_ != nullptr) {
      const std::byte* in[elementwise::kMaxTypedOperands] = {to, from};
      return row_(in, to, n, 0);
    }
    if (dtype_ == DType::kF32)
      return ReduceFloats(reinterpret_cast<const float*>(from), n, reinterpret_cast<float*>(to));
    DispatchDType(dtype_, [&]<typename T>() {
      const T* update = reinterpret_cast<const T*>(from);
      T* old = reinterpret_cast<T*>(to);
      for (int64_t i = 0; i < n; ++i) old[i] = ops::Reduce(reduction_, old[i], update[i]);
    });
  }

  /// A loop for each reduction: what is chosen for each element is not a vector.
  void ReduceFloats(const float* x, int64_t n, float* y) const {
    switch (reduction_) {
      case ops::Reduction::kAdd:
        for (int64_t i = 0; i < n; ++i) y[i] += x[i];
        return;
      case ops::Reduction::kMul:
        for (int64_t i = 0; i < n; ++i) y[i] *= x[i];
        return;
      case ops::Reduction::kMax:
        for (int64_t i = 0; i < n; ++i) y[i] = y[i] < x[i] ? x[i] : y[i];
        return;
      default:
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] < y[i] ? x[i] : y[i];
    }
  }

  IndexTuples tuples_;
  std::vector<SliceRun> runs_;  // of constant indices
  elementwise::TypedRow row_;   // of the reduction; null: another way
};

Result<Facts> ReadNode(const ir::Graph& group, std::string_view op) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != op)
    return Unsupported("computes {} only", op);
  const ir::Node& node = group.nodes()[0];
  const ir::Value &data = group.value(node.inputs[0]), &indices = group.value(node.inputs[1]);
  ASSIGN_OR_RETURN(const ops::Reduction reduction, ops::ReadReduction(node));
  return Facts{*data.shape, *indices.shape, indices.dtype, reduction};
}

Result<ElementFacts> ReadElements(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Facts facts, ReadNode(group, "ScatterElements"));
  const int64_t axis = group.nodes()[0].attributes.Int("axis");
  const int rank = facts.data.rank();
  return ElementFacts{std::move(facts), *NormaliseAxis(axis, rank)};
}

Result<TupleFacts> ReadTuples(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Facts facts, ReadNode(group, "ScatterND"));
  IndexTuples tuples = MakeIndexTuples(facts.data, facts.indices, 0);
  return TupleFacts{std::move(facts), std::move(tuples),
                    group.value(group.nodes()[0].inputs[1]).constant};
}

/// Halves are reduced in floats; moved ones stay what they are.
template <typename F>
Result<std::vector<StateAssignment>> ScatterStates(const ir::Graph& group, const F& facts,
                                                   const Device&) {
  const bool moves = facts.reduction == ops::Reduction::kNone;
  return std::vector<StateAssignment>{moves ? RowMajorStates(group) : WidenedStates(group)};
}

constexpr Family<ElementFacts> kElements{.read = ReadElements,
                                         .states = ScatterStates<ElementFacts>,
                                         .prepare = Make<ScatterElements>,
                                         .taste = Always<10>,
                                         .reads_callers_memory = true};
constexpr Family<TupleFacts> kTuples{.read = ReadTuples,
                                     .states = ScatterStates<TupleFacts>,
                                     .prepare = Make<ScatterTuples>,
                                     .taste = Always<10>,
                                     .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuScatterElements;
const KernelDesc kCpuScatterElements = {.name = "cpu.scatter.elements",
                                        .match = MatchAs<kElements>};
extern const KernelDesc kCpuScatterTuples;
const KernelDesc kCpuScatterTuples = {.name = "cpu.scatter.tuples", .match = MatchAs<kTuples>};

}  // namespace fettle::kernels
