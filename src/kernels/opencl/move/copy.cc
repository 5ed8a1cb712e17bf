// opencl.move.copy: operators that only move elements between buffers, as views where the bytes
// already lie as wanted and as strided copies elsewhere. Channels that leave their pixels are
// opencl.move.channels's.
#include <algorithm>
#include <span>

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

/// Outputs of one launch.
constexpr size_t kMostAlike = 4;

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

/// Whether the last axis is short and another is the source's innermost one: a work-item moves all
/// of the last, so that its neighbours read what lies side by side.
bool IsTurned(const Piece& piece, int64_t width) {
  constexpr int64_t kMostTurned = 16;
  const size_t rank = piece.axes.size();
  if (width > 1 || rank < 2 || piece.source == kZeroSource) return false;
  const CopyAxis &last = piece.axes[rank - 1], &before = piece.axes[rank - 2];
  return last.extent <= kMostTurned && last.src_stride > 1 && before.src_stride == 1;
}

/// Whether one launch makes both, each in its output: parts of one operand that lie alike.
bool AreAlike(const Piece& a, const Piece& b) {
  return a.source == b.source && a.source != kZeroSource && a.output != b.output &&
         a.dst_offset == b.dst_offset &&
         std::ranges::equal(a.axes, b.axes, [](const CopyAxis& x, const CopyAxis& y) {
           return x.extent == y.extent && x.src_stride == y.src_stride &&
                  x.dst_stride == y.dst_stride;
         });
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
    std::vector<Piece> copies;
    for (const Piece& piece : pieces) {
      const int output = context_.output(piece.output).index;
      const bool is_view = std::any_of(made_->views.begin(), made_->views.end(),
                                       [&](const Alias& view) { return view.output == output; });
      if (!is_view) copies.push_back(piece);
    }
    for (size_t i = 0; i < copies.size();) {
      const size_t alike = CountAlike(std::span(copies).subspan(i));
      RETURN_IF_ERROR(Record(std::span(copies).subspan(i, alike)));
      i += alike;
    }
    return std::unique_ptr<PreparedKernel>(std::move(made_));
  }

 private:
  /// How many of the first one launch makes.
  size_t CountAlike(std::span<const Piece> pieces) const {
    size_t count = 1;
    while (count < std::min(pieces.size(), kMostAlike) && AreAlike(pieces[0], pieces[count]) &&
           WidthOf(pieces[0], storage_) == WidthOf(pieces[count], storage_))
      ++count;
    return count;
  }

  Result<std::shared_ptr<OpenClKernel>> Build(bool zero, bool turned, int64_t width, size_t alike) {
    BuildOptions options;
    options.Add(fmt::format("-DELEMENT={}{}", UnsignedName(StorageBytes(storage_, 1)),
                            width == 1 ? "" : std::to_string(width)));
    options.Define("COPY_ZERO", zero ? 1 : 0);
    if (turned) options.Define("TURNED", 1);
    if (alike > 1) options.Define("ALIKE", static_cast<int64_t>(alike));
    return device_.BuildKernel(MakeProgram("move/copy.cl", options), "copy");
  }

  void AddSource(const Piece& piece, bool is_constant, int64_t word, RecordedLaunch& launch) {
    const ir::ValueId id = context_.input(piece.source).id;
    if (is_constant)
      made_->AddRows(*problem_.group, id, storage_, launch);
    else
      launch.Input(InputIndex(*problem_.group, id), word);
  }

  /// Of pieces that are alike.
  Status Record(std::span<const Piece> alike) {
    const Piece& elements = alike[0];
    const bool is_zero = elements.source == kZeroSource;
    const bool is_constant = !is_zero && context_.input(elements.source).constant != nullptr;
    const int64_t width = is_constant ? 1 : WidthOf(elements, storage_);
    const Piece piece = InWords(elements, width);
    const int64_t word = StorageBytes(storage_, width);
    const bool is_turned = IsTurned(piece, width);
    ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                     Build(is_zero, is_turned, width, alike.size()));
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
    if (is_turned) inner /= piece.axes.back().extent;
    RecordedLaunch& launch = made_->recorded.emplace_back(
        std::move(kernel), PlaceSizes(inner, outer, static_cast<int64_t>(alike.size())));
    const size_t output = context_.output(piece.output).index;
    // Zeros read nothing, but an argument they have.
    is_zero ? (void)launch.Output(output, word) : AddSource(piece, is_constant, word, launch);
    launch.Output(output, word).Int(piece.src_offset).Int(piece.dst_offset);
    launch.Value(extents).Value(from).Value(to);
    for (const Piece& other : alike.subspan(1)) {
      launch.Output(context_.output(other.output).index, word);
      launch.Int(other.src_offset / width);
    }
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
