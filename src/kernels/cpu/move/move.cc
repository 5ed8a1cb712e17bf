// cpu.move: operators that only move elements, as views where the bytes already lie as wanted and
// as strided copies elsewhere.
#include <algorithm>
#include <array>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/move/move_plan.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// Below this everything runs on the calling lane: waking others takes longer.
constexpr int64_t kSerialBytes = 32 << 10;

/// What padding with nothing reads.
alignas(16) constexpr std::byte kZeros[16] = {};

/// The window of input `move.source` that output `move.output` is, if the copy moves nothing.
std::optional<Alias> FindView(const MoveContext& context, const StateAssignment& states,
                              const Move& move) {
  if (move.source == kZeroSource || move.dst_offset != 0) return std::nullopt;
  const MoveOperand& source = context.input(move.source);
  if (source.index < 0) return std::nullopt;
  const State& state = states.inputs[static_cast<size_t>(source.index)];
  const int64_t byte_offset = move.src_offset * ByteSize(state.storage);
  if (state.external || byte_offset % static_cast<int64_t>(kTensorAlignment) != 0)
    return std::nullopt;
  for (const CopyAxis& axis : move.axes) {
    if (axis.extent == 0 || (axis.extent > 1 && axis.src_stride != axis.dst_stride))
      return std::nullopt;
  }
  return Alias{context.output(move.output).index, source.index, byte_offset, true};
}

/// The views among `moves`: outputs that one copy alone writes, to where it reads them.
std::vector<Alias> FindViews(const MoveContext& context, const StateAssignment& states,
                             const std::vector<Move>& moves) {
  std::vector<Alias> views;
  for (const Move& move : moves) {
    const auto writers = std::count_if(
        moves.begin(), moves.end(), [&](const Move& other) { return other.output == move.output; });
    const std::optional<Alias> view = FindView(context, states, move);
    if (writers == 1 && view) views.push_back(*view);
  }
  return views;
}

class MoveKernel final : public PreparedKernel {
 public:
  MoveKernel(const Problem& problem, const MoveContext& context, std::vector<Move> moves)
      : storage_(problem.states.outputs.empty() ? DType::kF32 : problem.states.outputs[0].storage),
        views_(FindViews(context, problem.states, moves)) {
    for (Move& move : moves) {
      const int output = context.output(move.output).index;
      const bool is_view = std::any_of(views_.begin(), views_.end(),
                                       [&](const Alias& view) { return view.output == output; });
      if (!is_view) AddJob(context, std::move(move), output);
    }
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (const MoveOperand& operand : constants_) {
      const State packed{.storage = storage_};
      // The plain form has the reference's recipe, so that the two share it.
      const bool is_plain = operand.constant->dtype() == storage_;
      requests.push_back({{operand.id},
                          is_plain ? "row" : fmt::format("row.{}", DTypeName(storage_)),
                          StateBytes(operand.shape, packed),
                          [packed](std::span<const Constant* const> constants, std::byte* out) {
                            ASSIGN_OR_RETURN(const Tensor tensor, constants[0]->ToTensor());
                            const State own{.storage = tensor.dtype()};
                            Reorder(tensor.shape(), own, tensor.data(), packed, out);
                            return OkStatus();
                          }});
    }
    return requests;
  }

  std::vector<Alias> aliases() const override { return views_; }

  Status Launch(const LaunchArgs& args) const override {
    const auto run = [&](const Job& job, int64_t task) {
      const std::byte* source = kZeros;
      if (job.input >= 0) source = args.inputs[static_cast<size_t>(job.input)].host<std::byte>();
      if (job.packed >= 0) source = args.packed[static_cast<size_t>(job.packed)].host<std::byte>();
      job.copy.Run(source, args.outputs[static_cast<size_t>(job.output)].host<std::byte>(), task);
    };
    if (bytes_ <= kSerialBytes) {
      for (const Job& job : jobs_) {
        for (int64_t task = 0; task < job.copy.tasks(); ++task) run(job, task);
      }
      return OkStatus();
    }
    static_cast<CpuStream&>(args.stream).ParallelFor(tasks_, [&](int64_t task, int) {
      const auto after =
          std::upper_bound(jobs_.begin(), jobs_.end(), task,
                           [](int64_t at, const Job& job) { return at < job.first_task; });
      run(*(after - 1), task - (after - 1)->first_task);
    });
    return OkStatus();
  }

 private:
  struct Job {
    StridedCopy copy;
    int input, packed;  // -1: not the source
    int output;
    int64_t first_task;
  };

  void AddJob(const MoveContext& context, Move move, int output) {
    int64_t elements = 1;
    for (const CopyAxis& axis : move.axes) elements *= axis.extent;
    bytes_ += elements * ByteSize(storage_);
    int input = -1, packed = -1;
    if (move.source != kZeroSource) {
      const MoveOperand& source = context.input(move.source);
      input = source.index;
      if (input < 0) packed = AddConstant(source);
    }
    StridedCopy copy(ByteSize(storage_), std::move(move.axes), move.src_offset, move.dst_offset);
    const int64_t tasks = copy.tasks();
    if (tasks == 0) return;
    jobs_.push_back({std::move(copy), input, packed, output, tasks_});
    tasks_ += tasks;
  }

  int AddConstant(const MoveOperand& source) {
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i].id == source.id) return static_cast<int>(i);
    }
    constants_.push_back(source);
    return static_cast<int>(constants_.size() - 1);
  }

  DType storage_;
  std::vector<Alias> views_;
  std::vector<Job> jobs_;
  std::vector<MoveOperand> constants_;
  int64_t tasks_ = 0, bytes_ = 0;
};

/// The states of all operands where moved ones are stored as `storage` and those of three or more
/// axes are channels-last or row-major.
StateAssignment AssignLayouts(const ir::Graph& group, DType storage, bool last_in, bool last_out) {
  StateAssignment states = RowMajorStates(group);
  const ir::Node& node = group.nodes()[0];
  const auto assign = [&](ir::ValueId id, State& state, bool channels_last) {
    state.storage = storage;
    if (channels_last) state.layout = Layout::ChannelsLast(group.value(id).shape->rank());
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsMoved(node, i)) continue;
    for (size_t k = 0; k < group.inputs.size(); ++k) {
      if (group.inputs[k] == node.inputs[i]) assign(group.inputs[k], states.inputs[k], last_in);
    }
  }
  for (size_t k = 0; k < group.outputs.size(); ++k)
    assign(group.outputs[k], states.outputs[k], last_out);
  return states;
}

/// Whether a pixel shuffle out of channels-last writes planes faster than pixels: in mode CRD a
/// pixel's few channels lie far apart in the source, a plane's pixels beside each other.
bool PrefersPlanes(const MoveContext& context, const StateAssignment& states) {
  constexpr int64_t kFewChannels = 16;
  const ir::Node& node = context.node();
  return node.op == "DepthToSpace" && node.attributes.Text("mode") == "CRD" &&
         context.output(0).shape[1] < kFewChannels && !states.inputs.empty() &&
         !states.inputs[0].layout.IsRowMajor();
}

/// How good an assignment is before anything is known of the neighbours: all outputs views, then
/// equal layouts, then others.
int RankOf(const MoveContext& context, const StateAssignment& states,
           const std::vector<Move>& moves, bool same_layout) {
  if (FindViews(context, states, moves).size() == states.outputs.size()) return 0;
  return same_layout != PrefersPlanes(context, states) ? 1 : 2;
}

/// `plain` with every choice of row-major inputs that are read where the caller bound them: copies
/// work at any alignment, and save one. Few inputs only, as the choices double with each.
void AppendExternal(const ir::Graph& group, DType dtype, const StateAssignment& plain,
                    std::vector<StateAssignment>& all) {
  constexpr size_t kMaxInputs = 3;
  std::vector<size_t> readable;
  const ir::Node& node = group.nodes()[0];
  for (size_t k = 0; k < group.inputs.size(); ++k) {
    const State& state = plain.inputs[k];
    bool is_moved = true;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      is_moved = is_moved && (node.inputs[i] != group.inputs[k] || IsMoved(node, i));
    if (is_moved && state.layout.IsRowMajor() && state.storage == dtype) readable.push_back(k);
  }
  if (readable.size() > kMaxInputs) return;
  for (unsigned chosen = 1; chosen < 1u << readable.size(); ++chosen) {
    StateAssignment states = plain;
    for (size_t i = 0; i < readable.size(); ++i)
      states.inputs[readable[i]].external = (chosen >> i & 1) != 0;
    all.push_back(std::move(states));
  }
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("moves one operator at a time");
  const DType dtype =
      group.outputs.empty() ? DType::kUndefined : group.value(group.outputs[0]).dtype;
  if (ByteSize(dtype) == 0 || ByteSize(dtype) > 8)
    return Unsupported("elements of type {} are not moved", DTypeName(dtype));
  std::vector<DType> storages = {dtype};
  if (dtype == DType::kF16 || dtype == DType::kBF16) storages.push_back(DType::kF32);
  std::array<std::vector<StateAssignment>, 3> ranked;
  Status refusal;
  for (DType storage : storages) {
    for (const auto& [last_in, last_out] :
         {std::pair(false, false), {true, true}, {false, true}, {true, false}}) {
      StateAssignment states = AssignLayouts(group, storage, last_in, last_out);
      const auto is_known = [&](const std::vector<StateAssignment>& list) {
        return std::find(list.begin(), list.end(), states) != list.end();
      };
      if (std::any_of(ranked.begin(), ranked.end(), is_known)) continue;
      ASSIGN_OR_RETURN(const MoveContext context, MoveContext::Make(group, states));
      const Result<std::vector<Move>> moves = PlanMoves(context);
      if (!moves.ok()) {
        if (refusal.ok()) refusal = moves.status();
        continue;
      }
      const int rank = RankOf(context, states, *moves, last_in == last_out);
      ranked[static_cast<size_t>(rank)].push_back(std::move(states));
    }
  }
  std::vector<StateAssignment> all;
  for (std::vector<StateAssignment>& list : ranked) {
    for (StateAssignment& states : list) all.push_back(std::move(states));
  }
  if (all.empty()) return refusal;
  const size_t planned = all.size();
  for (size_t i = 0; i < planned; ++i) AppendExternal(group, dtype, StateAssignment(all[i]), all);
  return all;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device&) {
  ASSIGN_OR_RETURN(const MoveContext context, MoveContext::Make(*problem.group, problem.states));
  ASSIGN_OR_RETURN(std::vector<Move> moves, PlanMoves(context));
  return std::unique_ptr<PreparedKernel>(new MoveKernel(problem, context, std::move(moves)));
}

}  // namespace

extern const KernelDesc kCpuMove;
const KernelDesc kCpuMove = {
    .name = "cpu.move", .preference = 10, .candidates = Candidates, .prepare = Prepare};

}  // namespace fettle::kernels
