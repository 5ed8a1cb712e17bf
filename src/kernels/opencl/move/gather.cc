// opencl.move.gather: operators that only move elements, to and from images. Each output is one
// launch that looks up where its elements come from.
#include <algorithm>
#include <limits>

#include "kernels/move/move_plan.h"
#include "kernels/opencl/move/join_axes.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/tables.h"
#include "kernels/opencl/work_sizes.h"
#include "kernels/planned_states.h"

namespace fettle::kernels {
namespace {

/// Operands that one launch reads.
constexpr size_t kMostSources = 8;
/// Ints of a piece in gather.cl.
constexpr size_t kHeader = 8, kPieceInts = kHeader + 3 * kMostAxes;

bool IsImage(const State& state) { return state.memory == MemoryKind::kImage2d; }

/// A move between row-major tensors, whatever form they are in.
struct RowPiece {
  Piece piece;
  bool whole = false;  // each pixel of it is a pixel of the source
};

/// The same operands, all row-major: what elements are counted by.
StateAssignment AsRows(StateAssignment states) {
  for (std::vector<State>* of : {&states.inputs, &states.outputs}) {
    for (State& state : *of) state.layout = Layout::RowMajor();
  }
  return states;
}

/// Whether a move between tensors in pixels moves whole pixels; lanes behind the last channel
/// apart.
bool MovesPixels(const Move& move, const MoveOperand& x, const MoveOperand& y) {
  constexpr int kChannels = 1;
  if (x.layout.blocks.empty() || y.layout.blocks.empty()) return false;
  const int64_t first = move.dst_offset.Index(kChannels);
  if (first % 4 != 0 || move.src_offset.Index(kChannels) % 4 != 0) return false;
  int channel_axes = 0;
  for (const MoveAxis& axis : move.axes) {
    const auto step = [](const Step& s) { return s.is_blocked() ? s.count : 0; };
    if (axis.extent == 1) continue;
    if (step(axis.src_stride) == 1 && step(axis.dst_stride) == 1) {
      ++channel_axes;
      if (axis.extent % 4 != 0 && first + axis.extent != y.shape[kChannels]) return false;
    } else if (step(axis.src_stride) % 4 != 0 || step(axis.dst_stride) % 4 != 0) {
      return false;
    }
  }
  return channel_axes == 1;
}

Result<std::vector<RowPiece>> Plan(const ir::Graph& group, const StateAssignment& states) {
  const MoveContext context(group, states), row_context(group, AsRows(states));
  // Of the layouts as they are it only matters whether pixels stay together.
  const Result<std::vector<Move>> pixel_moves = ListMoves(context);
  ASSIGN_OR_RETURN(const std::vector<Move> moves, ListMoves(row_context));
  const bool is_parallel = pixel_moves.ok() && pixel_moves->size() == moves.size();
  std::vector<RowPiece> all;
  for (size_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    if (move.source == kZeroSource) continue;
    ASSIGN_OR_RETURN(std::vector<Piece> pieces, CutMove(move, row_context.input(move.source),
                                                        row_context.output(move.output)));
    const bool whole =
        is_parallel && (*pixel_moves)[i].source == move.source &&
        MovesPixels((*pixel_moves)[i], context.input(move.source), context.output(move.output));
    for (Piece& piece : pieces) {
      piece.axes = JoinAxes(std::move(piece.axes));
      if (piece.axes.size() > kMostAxes || !IsNested(piece.axes))
        return Unsupported("elements whose place needs more than one division for each axis");
      all.push_back({std::move(piece), whole});
    }
  }
  if (all.size() > kMostPieces)
    return Unsupported("{} pieces: expected at most {}", all.size(), kMostPieces);
  return all;
}

/// Elements are counted in 32 bits; only floats are in images.
Status CheckOperands(const ir::Graph& group, const StateAssignment& states) {
  const auto check = [](const ir::Value& value) {
    if (value.shape->elements() <= std::numeric_limits<cl_int>::max()) return OkStatus();
    return Unsupported("kernels count elements in 32 bits");
  };
  bool has_image = false;
  for (size_t i = 0; i < states.outputs.size(); ++i) {
    if (!IsFloatValue(group.value(group.outputs[i]).dtype)) return Unsupported("not a float type");
    RETURN_IF_ERROR(check(group.value(group.outputs[i])));
    has_image = has_image || IsImage(states.outputs[i]);
  }
  for (size_t i = 0; i < states.inputs.size(); ++i) {
    RETURN_IF_ERROR(check(group.value(group.inputs[i])));
    has_image = has_image || IsImage(states.inputs[i]);
  }
  return has_image ? OkStatus() : Unsupported("no operand would be an image");
}

/// All operands in `form` that can be: those of rank 4, or where there are none those of rank 3.
StateAssignment AllBeside(const ir::Graph& group, const State& form) {
  int rank = 3;
  for (const auto* ids : {&group.inputs, &group.outputs}) {
    for (ir::ValueId id : *ids) {
      if (group.value(id).shape->rank() == 4) rank = 4;
    }
  }
  StateAssignment states;
  for (ir::ValueId id : group.inputs)
    states.inputs.push_back(StateBeside(group.value(id), form, rank));
  for (ir::ValueId id : group.outputs)
    states.outputs.push_back(StateBeside(group.value(id), form, rank));
  return states;
}

using Plans = PlannedStates<std::vector<RowPiece>>;

Result<Plans> Read(const ir::Graph& group, const Device& device) {
  if (group.nodes().size() != 1)
    return Unsupported("computes moves of elements only, one at a time");
  if (group.outputs.empty()) return Unsupported("no output");
  Plans plans;
  for (const State& form : PixelStates(device)) {
    if (!IsImage(form)) continue;
    StateAssignment states = AllBeside(group, form);
    RETURN_IF_ERROR(CheckOperands(group, states));
    ASSIGN_OR_RETURN(std::vector<RowPiece> pieces, Plan(group, states));
    plans.Add(std::move(states), std::make_shared<const std::vector<RowPiece>>(std::move(pieces)));
  }
  if (plans.size() == 0) return Unsupported("the device has no images");
  return plans;
}

/// One launch: what makes one output.
class Recorder {
 public:
  Recorder(const Problem& problem, const Device& device, RecordedKernel& made)
      : problem_(problem),
        device_(AsOpenCl(device)),
        context_(*problem.group, AsRows(problem.states)),
        made_(made) {}

  Status Record(int output, const std::vector<RowPiece>& all) {
    std::vector<cl_int> table;
    std::vector<int> sources;  // inputs of the node
    for (const RowPiece& piece : all) {
      if (piece.piece.output != output) continue;
      auto at = std::find(sources.begin(), sources.end(), piece.piece.source);
      if (at == sources.end()) at = sources.insert(at, piece.piece.source);
      Append(piece, static_cast<cl_int>(at - sources.begin()), table);
    }
    if (sources.size() > kMostSources)
      return Unsupported("{} operands: expected at most {}", sources.size(), kMostSources);
    const size_t index = context_.output(output).index;
    const State& state = problem_.states.outputs[index];
    const Shape& shape = context_.output(output).shape;
    if (shape.elements() == 0) return OkStatus();
    BuildOptions options =
        AccessOptions({.memory = MemoryKind::kImage2d, .storage = state.storage});
    options.Define("OUT_ROWS", IsImage(state) ? 0 : 1);
    options.Define("PIECE_INTS", static_cast<int64_t>(kPieceInts));
    ASSIGN_OR_RETURN(
        std::shared_ptr<OpenClKernel> kernel,
        device_.BuildKernel(MakeProgram("move/gather.cl", options, Text(sources)), "gather"));
    const cl_int count = static_cast<cl_int>(table.size() / kPieceInts);
    // An empty table still is an argument.
    table.resize(std::max(table.size(), kPieceInts));
    RecordedLaunch launch(std::move(kernel),
                          IsImage(state) ? PixelSizes(shape) : PlaceSizes(shape.elements()));
    if (IsImage(state)) {
      launch.Output(index, PixelBytes(state.storage)).Value(PixelDims(shape)).Int(shape[1]);
    } else {
      launch.Output(index, StorageBytes(state.storage, 1))
          .Value(Int4(shape.elements(), 1, 1, 1))
          .Int(1);
    }
    launch.Packed(made_.own_packs.size(), 0).Int(count);
    made_.own_packs.push_back(TablePack("move.pieces", std::move(table)));
    for (const int source : sources) AddSource(source, state.storage, launch);
    made_.recorded.push_back(std::move(launch));
    return OkStatus();
  }

 private:
  void Append(const RowPiece& row_piece, cl_int source, std::vector<cl_int>& table) const {
    const Piece& piece = row_piece.piece;
    const Shape& x = context_.input(piece.source).shape;
    const bool is_image = IsImageSource(piece.source);
    const size_t end = table.size() + kPieceInts;
    table.insert(table.end(),
                 {source, row_piece.whole ? 1 : 0, static_cast<cl_int>(piece.dst_offset),
                  static_cast<cl_int>(piece.src_offset)});
    const auto [height, width] = is_image ? PlaneOf(x) : std::array<int64_t, 2>{1, 1};
    for (int64_t extent : {is_image ? x[1] : 1, height, width})
      table.push_back(static_cast<cl_int>(extent));
    table.push_back(static_cast<cl_int>(piece.axes.size()));
    for (const CopyAxis& axis : piece.axes)
      table.insert(table.end(),
                   {static_cast<cl_int>(axis.extent), static_cast<cl_int>(axis.dst_stride),
                    static_cast<cl_int>(axis.src_stride)});
    table.resize(end);
  }

  bool IsImageSource(int source) const {
    const int index = context_.input(source).index;
    return index >= 0 && IsImage(problem_.states.inputs[index]);
  }

  std::string Text(const std::vector<int>& sources) const {
    std::string params, args, reads;
    for (size_t i = 0; i < sources.size(); ++i) {
      const bool is_image = IsImageSource(sources[i]);
      params += fmt::format(", {}(x{})", is_image ? "TENSOR_IN" : "ROWS_IN", i);
      args += fmt::format(", x{0}, x{0}_offset", i);
      reads += fmt::format("READ_{}({}, x{}) ", is_image ? "PIXELS" : "ROWS", i, i);
    }
    return fmt::format(
        "#define SOURCE_PARAMS {}\n#define SOURCE_ARGS {}\n#define READ_SOURCES {}\n", params, args,
        reads);
  }

  void AddSource(int source, DType storage, RecordedLaunch& launch) {
    const MoveOperand& operand = context_.input(source);
    if (IsImageSource(source)) {
      launch.Input(static_cast<size_t>(operand.index), PixelBytes(storage));
    } else {
      made_.AddRows(*problem_.group, operand.id, storage, launch);
    }
  }

  const Problem& problem_;
  const OpenClDevice& device_;
  MoveContext context_;
  RecordedKernel& made_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Plans& plans,
                                                const Params&, const Device& device) {
  const std::vector<RowPiece>& pieces = plans.In(problem.states);
  auto made = std::make_unique<RecordedKernel>();
  Recorder recorder(problem, device, *made);
  const std::vector<ir::ValueId>& outputs = problem.node().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != ir::kAbsent) RETURN_IF_ERROR(recorder.Record(static_cast<int>(i), pieces));
  }
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Plans> kFamily{.read = Read,
                                .states = ListPlanned,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClMoveGather;
const KernelDesc kOpenClMoveGather = {.name = "opencl.move.gather", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
