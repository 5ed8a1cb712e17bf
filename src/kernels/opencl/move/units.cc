// opencl.move.units: operators in a row that only move elements, between row-major buffers, where
// runs of elements stay together: one launch that looks up where each run comes from
// (move/units.cl).
#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/family.h"
#include "kernels/match/alone.h"
#include "kernels/move/move_plan.h"
#include "kernels/opencl/move/join_axes.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/tables.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Elements of a run below which a lookup for each costs more than it spares.
constexpr int64_t kLeastRun = 8;

struct RunTable {
  int64_t run = 0;  // elements
  /// For each run of the output the run of the input, -1 for zeros.
  std::shared_ptr<const std::vector<cl_int>> from;
};

/// What one member copies, of which of its operands.
struct MemberCopies {
  const ir::Node* node;
  std::vector<Piece> pieces;
};

Result<MemberCopies> CopiesOf(const ir::Graph& group, const ir::Node& node) {
  if (node.outputs.size() != 1) return Unsupported("{} has several outputs", node.op);
  const ir::Graph alone = Alone(group, node).graph;
  ASSIGN_OR_RETURN(std::vector<Piece> pieces, PlanMoves(MoveContext(alone, RowMajorStates(alone))));
  for (Piece& piece : pieces) {
    if (piece.source != kZeroSource && group.value(node.inputs[piece.source]).is_constant())
      return Unsupported("a constant is among what is moved");
    piece.axes = JoinAxes(std::move(piece.axes));
  }
  return MemberCopies{&node, std::move(pieces)};
}

/// Elements that every copy moves as one.
int64_t RunOf(const std::vector<MemberCopies>& members) {
  int64_t run = 0;
  for (const MemberCopies& member : members) {
    for (const Piece& piece : member.pieces) {
      run = std::gcd(run, piece.dst_offset);
      const bool reads = piece.source != kZeroSource;
      if (reads) run = std::gcd(run, piece.src_offset);
      bool is_run = false;
      for (const CopyAxis& axis : piece.axes) {
        if (axis.dst_stride == 1 && (!reads || axis.src_stride == 1)) {
          run = std::gcd(run, axis.extent);
          is_run = true;
        } else {
          run = std::gcd(run, axis.dst_stride);
          if (reads) run = std::gcd(run, axis.src_stride);
        }
      }
      if (!is_run) return 1;
    }
  }
  return run;
}

using Runs = std::vector<cl_int>;

void CopyRuns(const Piece& piece, int64_t run, const Runs* from, Runs& to) {
  const size_t rank = piece.axes.size();
  std::vector<int64_t> at(rank);
  const auto steps = [&](size_t i) {
    const CopyAxis& axis = piece.axes[i];
    return axis.dst_stride == 1
               ? CopyAxis{axis.extent / run, 1, 1}
               : CopyAxis{axis.extent, axis.src_stride / run, axis.dst_stride / run};
  };
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(steps(i));
  while (true) {
    int64_t src = piece.src_offset / run, dst = piece.dst_offset / run;
    for (size_t i = 0; i < rank; ++i) {
      src += at[i] * axes[i].src_stride;
      dst += at[i] * axes[i].dst_stride;
    }
    to[dst] = from == nullptr ? -1 : (*from)[src];
    size_t i = rank;
    while (i > 0 && ++at[i - 1] == axes[i - 1].extent) at[--i] = 0;
    if (i == 0) return;
  }
}

Result<RunTable> Read(const ir::Graph& group, const Device&) {
  if (group.inputs.size() != 1 || group.outputs.size() != 1 || group.nodes().size() < 2)
    return Unsupported("computes rows of operators from one tensor to one only");
  const ir::Value &x = group.value(group.inputs[0]), &y = group.value(group.outputs[0]);
  if (!IsFloatValue(x.dtype) || x.dtype != y.dtype) return Unsupported("not a float type");
  for (const ir::Value& value : group.values()) {
    if (!value.has_concrete_shape() || value.shape->elements() == 0 ||
        value.shape->elements() > std::numeric_limits<cl_int>::max())
      return Unsupported("an operand without elements, or of too many");
  }
  std::vector<MemberCopies> members;
  for (const ir::Node& node : group.nodes()) {
    ASSIGN_OR_RETURN(MemberCopies copies, CopiesOf(group, node));
    members.push_back(std::move(copies));
  }
  const int64_t run = RunOf(members);
  const Shape& shape = *x.shape;
  if (shape.rank() == 0 || run < kLeastRun || run % shape[shape.rank() - 1] != 0)
    return Unsupported("rows of the last axis do not stay together");
  IdVector<ir::ValueId, Runs> runs(group.values().size());
  runs[group.inputs[0]].resize(shape.elements() / run);
  std::iota(runs[group.inputs[0]].begin(), runs[group.inputs[0]].end(), 0);
  for (const auto& [node, pieces] : members) {
    Runs& to = runs[node->outputs[0]];
    to.resize(group.value(node->outputs[0]).shape->elements() / run);
    for (const Piece& piece : pieces)
      CopyRuns(piece, run,
               piece.source == kZeroSource ? nullptr : &runs[node->inputs[piece.source]], to);
  }
  return RunTable{run, std::make_shared<const Runs>(std::move(runs[group.outputs[0]]))};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const RunTable&,
                                            const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const RunTable& table,
                                                const Params&, const Device& device) {
  struct Word {
    std::string_view type;
    int64_t bytes;
  };
  constexpr Word kWords[] = {{"uint4", 16}, {"uint2", 8}, {"uint", 4}, {"ushort", 2}};
  const int64_t run_bytes = StorageBytes(problem.states.outputs[0].storage, table.run);
  const Word& word = *std::ranges::find_if(
      kWords, [run_bytes](const Word& of) { return run_bytes % of.bytes == 0; });
  BuildOptions options;
  options.Add(fmt::format("-DWORD={}", word.type));
  const int64_t run_words = run_bytes / word.bytes;
  const int64_t words = run_words * std::ssize(*table.from);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("move/units.cl", options), "units"));
  auto made = std::make_unique<RecordedKernel>();
  made->own_packs.push_back(TablePack("move.runs", *table.from));
  made->recorded.emplace_back(std::move(kernel), PlaceSizes(words))
      .Input(0, word.bytes)
      .Output(0, word.bytes)
      .Packed(0, 0)
      .Int(words)
      .Int(run_words);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<RunTable> kFamily{.read = Read,
                                   .states = States,
                                   .prepare = Prepare,
                                   .taste = Always<12>,
                                   .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClMoveUnits;
const KernelDesc kOpenClMoveUnits = {.name = "opencl.move.units", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
