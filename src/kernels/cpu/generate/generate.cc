// compiled: small
// cpu.generate: Trilu, EyeLike and Range: rows of zeros, copies or steps.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// The output as [rows, columns]: matrices of `height` rows one behind the other. Range is one row.
struct Facts {
  int64_t rows, columns, height;
  DType dtype;
  bool upper = false;    // Trilu keeps what lies above the diagonal
  int64_t diagonal = 0;  // of EyeLike
};

class Generate : public NodeKernel {
 public:
  Generate(const Problem& problem, const Facts& facts) : NodeKernel(problem), facts_(facts) {}

 protected:
  int64_t size() const { return ByteSize(facts_.dtype); }
  const Facts& facts() const { return facts_; }

  /// Calls row(r) for every row, some in each task.
  template <typename F>
  void ForRows(const CpuLaunch& args, F&& row) const {
    ForByteRows(args.stream, facts_.rows, facts_.columns * size(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row(r);
    });
  }

 private:
  Facts facts_;
};

class Trilu final : public Generate {
 public:
  using Generate::Generate;

  std::vector<Alias> aliases() const override {
    return operands().bound(0) < 0
               ? std::vector<Alias>{}
               : std::vector<Alias>{{.output = 0, .input = operands().bound(0)}};
  }

  Status Run(const CpuLaunch& args) const override {
    const std::byte* x = operands().input(args, 0);
    const auto* diagonal = reinterpret_cast<const int64_t*>(operands().input(args, 1));
    std::byte* y = operands().output(args, 0);
    const int64_t columns = facts().columns, height = facts().height;
    // Diagonals further away are all the same.
    const int64_t k = diagonal == nullptr ? 0 : std::clamp(*diagonal, -height, columns);
    ForRows(args, [&](int64_t r) {
      // The columns before this one lie below the diagonal.
      const int64_t border =
          std::clamp(r % height + k + (facts().upper ? 0 : 1), int64_t{0}, columns);
      const int64_t kept = facts().upper ? border : 0;
      const int64_t zeroed = facts().upper ? 0 : border;
      const int64_t keeps = facts().upper ? columns - border : border;
      const int64_t at = r * columns * size();
      if (x != y) std::memcpy(y + at + kept * size(), x + at + kept * size(), keeps * size());
      std::memset(y + at + zeroed * size(), 0, (columns - keeps) * size());
    });
    return OkStatus();
  }
};

class EyeLike final : public Generate {
 public:
  EyeLike(const Problem& problem, const Facts& facts) : Generate(problem, facts) {
    HostView{one_, facts.dtype, Shape{1}, {1}}.SetInt(0, 1);
  }

  Status Run(const CpuLaunch& args) const override {
    std::byte* y = operands().output(args, 0);
    const int64_t columns = facts().columns;
    ForRows(args, [&](int64_t r) {
      std::byte* row = y + r * columns * size();
      std::memset(row, 0, columns * size());
      const int64_t at = r + facts().diagonal;
      if (at >= 0 && at < columns) std::memcpy(row + at * size(), one_, size());
    });
    return OkStatus();
  }

 private:
  alignas(8) std::byte one_[8] = {};
};

class Range final : public Generate {
 public:
  using Generate::Generate;

  Status Run(const CpuLaunch& args) const override {
    const std::byte *start = operands().input(args, 0), *delta = operands().input(args, 2);
    std::byte* y = operands().output(args, 0);
    switch (facts().dtype) {
      case DType::kF32: Steps<float, double>(args, start, delta, y); break;
      case DType::kF64: Steps<double, double>(args, start, delta, y); break;
      case DType::kI16: Steps<int16_t, uint64_t>(args, start, delta, y); break;
      case DType::kI32: Steps<int32_t, uint64_t>(args, start, delta, y); break;
      default: Steps<int64_t, uint64_t>(args, start, delta, y); break;
    }
    return OkStatus();
  }

 private:
  template <typename T, typename W>
  void Steps(const CpuLaunch& args, const std::byte* start, const std::byte* delta,
             std::byte* out) const {
    const auto first = static_cast<W>(*reinterpret_cast<const T*>(start));
    const auto step = static_cast<W>(*reinterpret_cast<const T*>(delta));
    T* y = reinterpret_cast<T*>(out);
    ForByteRows(args.stream, facts().columns, size(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(first + static_cast<W>(i) * step);
    });
  }
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& y = group.value(node.outputs[0]);
  Facts facts{1, y.shape->elements(), 1, y.dtype};
  if (ByteSize(y.dtype) == 0 || ByteSize(y.dtype) > 8)
    return Unsupported("elements of type {} are not moved", DTypeName(y.dtype));
  if (node.op == "Range"_op) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kI16, DType::kI32, DType::kI64}) {
      if (dtype == y.dtype) return facts;
    }
    return Unsupported("no steps of type {}", DTypeName(y.dtype));
  }
  if (node.op != "Trilu"_op && node.op != "EyeLike"_op)
    return Unsupported("computes Trilu, EyeLike and Range only");
  const int rank = y.shape->rank();
  facts.columns = (*y.shape)[rank - 1];
  facts.height = (*y.shape)[rank - 2];
  facts.rows = y.shape->Count(0, rank - 1);
  facts.upper = node.attributes.Int("upper", 1) != 0;
  facts.diagonal = std::clamp(node.attributes.Int("k"), -facts.height, facts.columns);
  return facts;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  std::unique_ptr<PreparedKernel> made;
  if (problem.node().op == "Trilu"_op) {
    made = std::make_unique<Trilu>(problem, facts);
  } else if (problem.node().op == "EyeLike"_op) {
    made = std::make_unique<EyeLike>(problem, facts);
  } else {
    made = std::make_unique<Range>(problem, facts);
  }
  return made;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuGenerate;
const KernelDesc kCpuGenerate = {.name = "cpu.generate", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
