// cpu.table_lookup.map: bytes through tables, in any layout; and Concat of such results and of
// other bytes, each written where it goes.
#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/table_lookup/byte_map.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Bytes that one task moves: enough to hide its claim.
constexpr int64_t kBytesPerTask = 32 << 10;

/// A tensor of bytes and what it goes through.
struct Operand {
  int input = 0;                    // of the group
  ir::ValueId table = ir::kAbsent;  // a constant; kAbsent: none
  Shape shape;
};

/// The operands, one behind the other along an axis.
struct Facts {
  std::vector<Operand> operands;
  Shape y;
  int axis = 0;
};

/// A tensor in memory as rows that hold the axis and all within it.
struct Rows {
  int64_t rows = 1, columns = 1;
};
Rows SplitAt(const Shape& shape, const Layout& layout, int axis) {
  const PhysicalDims dims = ToPhysical(shape, layout);
  Rows split;
  bool is_within = false;
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    is_within = is_within || dims.axis[i] == axis;
    (is_within ? split.columns : split.rows) *= dims.extent[i];
  }
  return split;
}

class ByteMap final : public CpuKernel {
 public:
  ByteMap(const Problem& problem, const Facts& facts) : map_(ChooseByteMap()) {
    const Layout& layout = problem.states.outputs[0].layout;
    const Rows y = SplitAt(facts.y, layout, facts.axis);
    int64_t begin = 0;
    for (const Operand& operand : facts.operands) {
      const Rows x = SplitAt(operand.shape, layout, facts.axis);
      if (x.rows * x.columns > 0) AddPieces(operand, x, begin, y.columns);
      begin += x.columns;
    }
    pads_ = PadLanes(facts.y, layout, 1);
    in_place_ = facts.operands.size() == 1;
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (ir::ValueId table : tables_) {
      requests.push_back(
          {{table}, "row", 256, [](std::span<const Constant* const> constants, std::byte* out) {
             constants[0]->CopyTo(0, 256, out);
             return OkStatus();
           }});
    }
    return requests;
  }

  std::vector<Alias> aliases() const override {
    return in_place_ ? std::vector<Alias>{{.output = 0, .input = 0}} : std::vector<Alias>();
  }

  Status Run(const CpuLaunch& args) const override {
    args.stream.ParallelFor(static_cast<int64_t>(pieces_.size()), [&](int64_t i, int) {
      const Piece& piece = pieces_[i];
      ByteMapArgs map = piece.map;
      if (piece.table >= 0) map.table = args.packed[piece.table].host<uint8_t>();
      map.x = args.inputs[piece.input].host<uint8_t>() + piece.x_offset;
      map.y = args.outputs[0].host<uint8_t>() + piece.y_offset;
      map_(map);
    });
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  /// What one task does; its pointers are filled in at launch.
  struct Piece {
    ByteMapArgs map;
    int input = 0, table = -1;  // table: in tables_
    int64_t x_offset = 0, y_offset = 0;
  };

  /// Cuts an operand, whose rows begin at byte `begin` of the output's, into tasks.
  void AddPieces(const Operand& operand, Rows x, int64_t begin, int64_t y_columns) {
    Piece piece{.map = {.x_stride = x.columns, .y_stride = y_columns}, .input = operand.input};
    if (operand.table != ir::kAbsent) {
      piece.table = static_cast<int>(tables_.size());
      tables_.push_back(operand.table);
    }
    if (x.columns == y_columns) {  // one row
      x.columns *= x.rows;
      x.rows = 1;
    }
    const int64_t columns = std::min(x.columns, kBytesPerTask);
    const int64_t rows = std::max<int64_t>(1, kBytesPerTask / columns);
    for (int64_t r = 0; r < x.rows; r += rows) {
      for (int64_t c = 0; c < x.columns; c += columns) {
        piece.x_offset = r * piece.map.x_stride + c;
        piece.y_offset = r * piece.map.y_stride + begin + c;
        piece.map.rows = std::min(rows, x.rows - r);
        piece.map.columns = std::min(columns, x.columns - c);
        pieces_.push_back(piece);
      }
    }
  }

  ByteMapFunction map_;
  std::vector<ir::ValueId> tables_;
  std::vector<Piece> pieces_;
  PadLanes pads_;
  bool in_place_ = false;
};

/// What the value `id` of the group is made of.
Result<Operand> ReadOperand(const ir::Graph& group, ir::ValueId id) {
  Operand operand{.shape = *group.value(id).shape};
  for (const ir::Node& node : group.nodes()) {
    if (node.output(0) != id) continue;
    if (node.op != "TableLookup"_op)
      return Unsupported("an operand that does not come from a table");
    if (!group.value(node.inputs[1]).is_constant()) return Unsupported("a computed table");
    operand.table = node.inputs[1];
    id = node.inputs[0];
  }
  const auto input = std::find(group.inputs.begin(), group.inputs.end(), id);
  if (input == group.inputs.end()) return Unsupported("an operand is constant");
  operand.input = static_cast<int>(input - group.inputs.begin());
  return operand;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& last = group.nodes().back();
  const bool joins = last.op == "Concat"_op && group.nodes().size() > 1;
  if (!joins && (last.op != "TableLookup"_op || group.nodes().size() != 1))
    return Unsupported("computes tables and Concats of their results only");
  if (group.outputs.size() != 1 || group.outputs[0] != last.output(0))
    return Unsupported("several outputs");
  Facts facts{.y = *group.value(group.outputs[0]).shape};
  if (joins) facts.axis = *NormaliseAxis(last.attributes.Int("axis", 1), facts.y.rank());
  const size_t count = joins ? last.inputs.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const ir::ValueId id = joins ? last.inputs[i] : last.output(0);
    ASSIGN_OR_RETURN(Operand operand, ReadOperand(group, id));
    facts.operands.push_back(std::move(operand));
  }
  return facts;
}

/// Whether operands lie one behind the other in a layout: none ends within a block.
bool EndsAtBlocks(const Facts& facts, const Layout& layout) {
  const int64_t block = facts.y.rank() == 0 ? 1 : layout.BlockOf(facts.axis);
  return facts.operands.size() == 1 ||
         std::all_of(facts.operands.begin(), facts.operands.end(), [&](const Operand& operand) {
           return operand.shape[facts.axis] % block == 0;
         });
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  std::vector<Layout> layouts = BlockedLayouts(facts.y);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(facts.y.rank())});
  std::vector<StateAssignment> all;
  for (const Layout& layout : layouts) {
    if (!EndsAtBlocks(facts, layout)) continue;
    StateAssignment states;
    for (ir::ValueId id : group.inputs)
      states.inputs.push_back({.layout = layout, .storage = group.value(id).dtype});
    states.outputs.push_back({.layout = layout, .storage = group.value(group.outputs[0]).dtype});
    if (std::find(all.begin(), all.end(), states) == all.end()) all.push_back(std::move(states));
  }
  return all;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<ByteMap, Facts>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuTableLookupMap;
const KernelDesc kCpuTableLookupMap = {.name = "cpu.table_lookup.map", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
