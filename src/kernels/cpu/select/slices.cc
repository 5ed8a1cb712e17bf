// compiled: small
// cpu.select.slices: Compress, ReverseSequence and TensorScatter: slices of the input in another
// order, copied as bytes.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Output and input as [outer, extent, slice]: slices are picked along the middle axis. The number
/// of outer slices that share a length or a first index, `per_entry`.
struct Facts {
  int64_t outer = 1, x_extent = 1, y_extent = 1;
  int64_t slice = 1;  // bytes
  int64_t per_entry = 1;
  int64_t lanes = 1;  // of ReverseSequence by rows: sequences side by side in a slice
  bool circular = false;
  DType index_type = DType::kI64;
};

/// One slice: the usual element sizes without a call.
void CopySlice(const std::byte* from, int64_t bytes, std::byte* to) {
  switch (bytes) {
    case 1: *to = *from; break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, bytes);
  }
}

class Slices : public NodeKernel {
 public:
  Slices(const Problem& problem, const Facts& facts) : NodeKernel(problem), facts_(facts) {}

 protected:
  const Facts& facts() const { return facts_; }

 private:
  Facts facts_;
};

class Compress final : public Slices {
 public:
  Compress(const Problem& problem, const Facts& facts)
      : Slices(problem, facts),
        conditions_(std::min(problem.shape(problem.node().inputs[1]).elements(), facts.x_extent)) {}

  Status Run(const CpuLaunch& args) const override {
    const std::byte* x = operands().input(args, 0);
    const auto* condition = reinterpret_cast<const uint8_t*>(operands().input(args, 1));
    std::byte* y = operands().output(args, 0);
    int64_t* kept = args.At(kept_);
    const int64_t wanted = facts().y_extent, slice = facts().slice;
    int64_t count = 0;
    for (int64_t i = 0; i < conditions_ && count <= wanted; ++i) {
      // Always written, so that what is kept is no branch.
      if (count < wanted) kept[count] = i;
      count += condition[i] != 0 ? 1 : 0;
    }
    if (count != wanted)
      return InvalidArgument("the condition changed after the shape was inferred");
    ForByteRows(args.stream, facts().outer * wanted, slice, [&](int64_t begin, int64_t end) {
      int64_t outer = begin / wanted, at = begin % wanted;
      for (int64_t i = begin; i < end; ++i) {
        CopySlice(x + (outer * facts().x_extent + kept[at]) * slice, slice, y + i * slice);
        if (++at == wanted) {
          at = 0;
          ++outer;
        }
      }
    });
    return OkStatus();
  }

 private:
  int64_t conditions_;
  RunScratch<int64_t> kept_ = PerRun<int64_t>(facts().y_extent);
};

class ReverseSequence final : public Slices {
 public:
  using Slices::Slices;

  Status Run(const CpuLaunch& args) const override {
    const std::byte* x = operands().input(args, 0);
    const Indices lengths{operands().input(args, 1), facts().index_type};
    std::byte* y = operands().output(args, 0);
    const int64_t extent = facts().x_extent, slice = facts().slice, lanes = facts().lanes;
    const int64_t sequences = facts().outer * lanes;
    for (int64_t i = 0; i < sequences; ++i) {
      if (lengths[i] < 0 || lengths[i] > extent)
        return InvalidArgument("sequence length {} is out of range", lengths[i]);
    }
    ForByteRows(args.stream, facts().outer * extent, lanes * slice,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t outer = i / extent, t = i % extent;
                    for (int64_t l = 0; l < lanes; ++l) {
                      const int64_t length = lengths[outer * lanes + l];
                      const int64_t from = outer * extent + (t < length ? length - 1 - t : t);
                      CopySlice(x + (from * lanes + l) * slice, slice, y + (i * lanes + l) * slice);
                    }
                  }
                });
    return OkStatus();
  }
};

class TensorScatter final : public Slices {
 public:
  using Slices::Slices;

  std::vector<Alias> aliases() const override {
    return operands().bound(0) < 0
               ? std::vector<Alias>{}
               : std::vector<Alias>{{.output = 0, .input = operands().bound(0)}};
  }

  Status Run(const CpuLaunch& args) const override {
    const std::byte *cache = operands().input(args, 0), *update = operands().input(args, 1);
    const Indices starts{operands().input(args, 2), facts().index_type};
    std::byte* y = operands().output(args, 0);
    const int64_t extent = facts().y_extent, length = facts().x_extent, slice = facts().slice;
    const auto start_of = [&](int64_t entry) { return starts.data == nullptr ? 0 : starts[entry]; };
    for (int64_t i = 0; i < facts().outer / facts().per_entry; ++i) {
      const int64_t start = start_of(i);
      if (start < 0 || start > extent || (!facts().circular && start + length > extent))
        return InvalidArgument("write index {} is out of range", start);
    }
    const int64_t bytes = (cache == y ? length : extent) * slice;
    ForByteRows(args.stream, facts().outer, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t start = start_of(o / facts().per_entry);
        std::byte* to = y + o * extent * slice;
        const std::byte* from = update + o * length * slice;
        if (cache != y) std::memcpy(to, cache + o * extent * slice, extent * slice);
        const int64_t straight = std::min(length, extent - start);
        std::memcpy(to + start * slice, from, straight * slice);
        std::memcpy(to, from + straight * slice, (length - straight) * slice);
      }
    });
    return OkStatus();
  }
};

Facts ReadCompress(const ir::Node& node, const Shape& x, const Shape& y) {
  const bool has_axis = node.attributes.Has("axis");
  const int axis = has_axis ? *NormaliseAxis(node.attributes.Int("axis"), x.rank()) : 0;
  if (!has_axis) return {.x_extent = x.elements(), .y_extent = y.elements()};
  return {.outer = x.Count(0, axis),
          .x_extent = x[axis],
          .y_extent = y[axis],
          .slice = x.Count(axis + 1, x.rank())};
}

Facts ReadReverseSequence(const ir::Node& node, const Shape& x) {
  const bool by_rows = node.attributes.Int("batch_axis", 1) == 1;
  return {.outer = by_rows ? 1 : x[0],
          .x_extent = x[by_rows ? 0 : 1],
          .y_extent = x[by_rows ? 0 : 1],
          .slice = x.Count(2, x.rank()),
          .lanes = by_rows ? x[1] : 1};
}

Facts ReadTensorScatter(const ir::Node& node, const Shape& update, const Shape& y) {
  const int axis = *NormaliseAxis(node.attributes.Int("axis", -2), y.rank());
  return {.outer = y.Count(0, axis),
          .x_extent = update[axis],
          .y_extent = y[axis],
          .slice = y.Count(axis + 1, y.rank()),
          .per_entry = y.Count(1, axis),
          .circular = node.attributes.Text("mode", "linear") == "circular"};
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& y = group.value(node.outputs[0]);
  const auto shape_of = [&](size_t i) -> const Shape& {
    return *group.value(node.inputs[i]).shape;
  };
  Facts facts;
  size_t indices = 1;
  if (node.op == "Compress"_op) {
    facts = ReadCompress(node, shape_of(0), *y.shape);
  } else if (node.op == "ReverseSequence"_op) {
    facts = ReadReverseSequence(node, shape_of(0));
  } else if (node.op == "TensorScatter"_op) {
    facts = ReadTensorScatter(node, shape_of(1), *y.shape);
    indices = 2;
  } else {
    return Unsupported("computes Compress, ReverseSequence and TensorScatter only");
  }
  if (ByteSize(y.dtype) == 0 || ByteSize(y.dtype) > 8)
    return Unsupported("elements of type {} are not moved", DTypeName(y.dtype));
  facts.slice *= ByteSize(y.dtype);
  if (node.input(indices) != ir::kAbsent)
    facts.index_type = group.value(node.inputs[indices]).dtype;
  const bool is_index = facts.index_type == DType::kI32 || facts.index_type == DType::kI64;
  if (node.op != "Compress"_op && !is_index) return Unsupported("indices of another type");
  return facts;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  std::unique_ptr<PreparedKernel> made;
  if (problem.node().op == "Compress"_op) {
    made = std::make_unique<Compress>(problem, facts);
  } else if (problem.node().op == "ReverseSequence"_op) {
    made = std::make_unique<ReverseSequence>(problem, facts);
  } else {
    made = std::make_unique<TensorScatter>(problem, facts);
  }
  return made;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuSelectSlices;
const KernelDesc kCpuSelectSlices = {.name = "cpu.select.slices", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
