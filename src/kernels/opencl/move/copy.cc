// opencl.move.copy: operators that only move elements between buffers, as views where the bytes
// already lie as wanted and as strided copies elsewhere. Channels that leave their pixels are
// opencl.move.channels's.
#include <algorithm>

#include "kernels/move/views.h"
#include "kernels/opencl/move/join_axes.h"
#include "kernels/opencl/move/torn_channels.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "kernels/planned_states.h"

namespace fettle::kernels {
namespace {

Result<std::vector<Piece>> Plan(const ir::Graph& group, const StateAssignment& states) {
  const MoveContext context(group, states);
  ASSIGN_OR_RETURN(std::vector<Piece> pieces, PlanMoves(context));
  if (pieces.size() > kMostPieces)
    return Unsupported("{} copies: expected at most {}", pieces.size(), kMostPieces);
  for (Piece& piece : pieces) {
    piece.axes = JoinAxes(std::move(piece.axes));
    if (piece.axes.size() > kMostAxes)
      return Unsupported("a copy along {} axes: expected at most {}", piece.axes.size(), kMostAxes);
  }
  return pieces;
}

/// The copies that a group is, in all states that it can be moved in.
using Plans = PlannedStates<std::vector<Piece>>;

/// Elements of a vector that a work-item may move at once: those of a pixel, where neither side
/// tears them apart; 1 elsewhere.
int64_t WidthOf(const Piece& piece, DType storage) {
  constexpr int64_t kWidth = 4;
  const bool reads = piece.source != kZeroSource;
  const int64_t bytes = StorageBytes(storage, 1);
  if ((bytes != 2 && bytes != 4) || piece.dst_offset % kWidth != 0) return 1;
  if (reads && piece.src_offset % kWidth != 0) return 1;
  bool is_run = false;
  for (const CopyAxis& axis : piece.axes) {
    const bool is_inner = axis.dst_stride == 1 && (!reads || axis.src_stride == 1);
    if (is_inner ? axis.extent % kWidth != 0
                 : axis.dst_stride % kWidth != 0 || (reads && axis.src_stride % kWidth != 0))
      return 1;
    is_run = is_run || is_inner;
  }
  return is_run ? kWidth : 1;
}

/// The piece in words of `width` elements (WidthOf).
Piece InWords(Piece piece, int64_t width) {
  piece.src_offset /= width;
  piece.dst_offset /= width;
  for (CopyAxis& axis : piece.axes) {
    if (axis.dst_stride == 1) {
      axis.extent /= width;
    } else {
      axis.src_stride /= width;
      axis.dst_stride /= width;
    }
  }
  return piece;
}

class Recorder {
 public:
  Recorder(const Problem& problem, const Device& device)
      : problem_(problem),
        device_(AsOpenCl(device)),
        context_(*problem.group, problem.states),
        storage_(problem.states.outputs[0].storage) {}

  Result<std::unique_ptr<PreparedKernel>> Run(const std::vector<Piece>& pieces) {
    made_->views = FindViews(context_, problem_.states, pieces);
    for (const Piece& piece : pieces) {
      const int output = context_.output(piece.output).index;
      const bool is_view = std::any_of(made_->views.begin(), made_->views.end(),
                                       [&](const Alias& view) { return view.output == output; });
      if (!is_view) RETURN_IF_ERROR(Record(piece));
    }
    return std::unique_ptr<PreparedKernel>(std::move(made_));
  }

 private:
  Result<std::shared_ptr<OpenClKernel>> Build(bool zero, int64_t width) {
    BuildOptions options;
    options.Add(fmt::format("-DELEMENT={}{}", UnsignedName(StorageBytes(storage_, 1)),
                            width == 1 ? "" : std::to_string(width)));
    options.Define("COPY_ZERO", zero ? 1 : 0);
    return device_.BuildKernel(MakeProgram("move/copy.cl", options), "copy");
  }

  Status Record(const Piece& elements) {
    const bool is_zero = elements.source == kZeroSource;
    const bool is_constant = !is_zero && context_.input(elements.source).constant != nullptr;
    const int64_t width = is_constant ? 1 : WidthOf(elements, storage_);
    const Piece piece = InWords(elements, width);
    const int64_t word = StorageBytes(storage_, width);
    ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel, Build(is_zero, width));
    cl_int8 extents, from{}, to{};
    std::fill(std::begin(extents.s), std::end(extents.s), 1);
    const size_t lead = kMostAxes - piece.axes.size();
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < piece.axes.size(); ++i) {
      const CopyAxis& axis = piece.axes[i];
      extents.s[lead + i] = static_cast<cl_int>(axis.extent);
      from.s[lead + i] = static_cast<cl_int>(axis.src_stride);
      to.s[lead + i] = static_cast<cl_int>(axis.dst_stride);
      (lead + i < kMostAxes - 2 ? outer : inner) *= axis.extent;
    }
    if (outer * inner == 0) return OkStatus();
    RecordedLaunch& launch =
        made_->recorded.emplace_back(std::move(kernel), PlaceSizes(inner, outer));
    const size_t output = context_.output(piece.output).index;
    if (is_zero) {
      // Reads nothing, but an argument it has.
      launch.Output(output, word);
    } else if (!is_constant) {
      launch.Input(InputIndex(*problem_.group, context_.input(piece.source).id), word);
    } else {
      made_->AddRows(*problem_.group, context_.input(piece.source).id, storage_, launch);
    }
    launch.Output(output, word).Int(piece.src_offset).Int(piece.dst_offset);
    launch.Value(extents).Value(from).Value(to);
    return OkStatus();
  }

  const Problem& problem_;
  const OpenClDevice& device_;
  MoveContext context_;
  DType storage_;
  std::unique_ptr<RecordedKernel> made_ = std::make_unique<RecordedKernel>();
};

/// Whether a picture leaves a network here: of fewer channels than a pixel has, so that pixels
/// would be mostly empty.
bool MakesPicture(const ir::Graph& group) {
  const Shape& out = *group.value(group.outputs[0]).shape;
  return group.nodes()[0].op == "DepthToSpace"_op && out.rank() == 4 && out[1] < 4;
}

/// All operands as rows, or as pixels; a picture as rows of pixels first. An operator that trades
/// axes also between rows and pixels, so that it is the conversion.
std::vector<StateAssignment> ListForms(const ir::Graph& group, const Device& device) {
  std::vector<StateAssignment> forms;
  for (const State& form : RowStates()) forms.push_back(StatesBeside(group, form));
  for (const State& form : PixelStates(device)) {
    if (form.memory != MemoryKind::kBuffer) continue;
    const StateAssignment pixels = StatesBeside(group, form);
    if (MakesPicture(group)) {
      forms.push_back(pixels);
      forms.back().outputs[0] = RowStateOf(group.value(group.outputs[0]), form);
    }
    forms.push_back(pixels);
    if (!TradesAxes(group.nodes()[0])) continue;
    State row = RowStates()[0];
    row.storage = form.storage;
    const StateAssignment rows = StatesBeside(group, row);
    for (const bool in_rows : {false, true}) {
      forms.push_back(in_rows ? rows : pixels);
      forms.back().outputs = in_rows ? pixels.outputs : rows.outputs;
    }
  }
  return forms;
}

Result<Plans> Read(const ir::Graph& group, const Device& device) {
  if (group.nodes().size() != 1)
    return Unsupported("computes moves of elements only, one at a time");
  if (group.outputs.empty()) return Unsupported("no output");
  const ir::Value& out = group.value(group.outputs[0]);
  if (!IsStored(out.dtype) || RowOf(out.dtype).bits > 64)
    return Unsupported("elements of type {} are not moved", DTypeName(out.dtype));
  Plans plans;
  Status refused = OkStatus();
  const bool is_torn = ReadTornChannels(group).ok();
  for (StateAssignment& next : ListForms(group, device)) {
    if (plans.Has(next) || (is_torn && IsPixels(next.outputs[0]))) continue;
    Result<std::vector<Piece>> pieces = Plan(group, next);
    if (pieces.ok()) {
      plans.Add(std::move(next), std::make_shared<const std::vector<Piece>>(*std::move(pieces)));
    } else if (refused.ok()) {
      refused = pieces.status();
    }
  }
  if (plans.size() == 0) return refused;
  return plans;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Plans& plans,
                                                const Params&, const Device& device) {
  return Recorder(problem, device).Run(plans.In(problem.states));
}

bool IsView(const Problem& problem, const Plans& plans, const Device&) {
  return IsView(problem, plans.In(problem.states));
}

constexpr Family<Plans> kFamily{.read = Read,
                                .states = ListPlanned,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .is_view = IsView,
                                .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClMoveCopy;
const KernelDesc kOpenClMoveCopy = {.name = "opencl.move.copy", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
