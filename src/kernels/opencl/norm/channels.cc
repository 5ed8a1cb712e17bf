// opencl.norm.channels: LayerNormalization and RMSNormalization of the channels of each pixel, with
// the transposes that put the channels last before it and first behind it.
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/pixels.h"
#include "kernels/opencl/rows.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Blocks of four channels that a work-item keeps in registers.
constexpr int64_t kMostHeld = 8;

struct ChannelNorm {
  std::vector<PackRequest> packs;  // scale, bias where there is one
  float epsilon = 0;
  bool takes_mean = true;
  bool from_rows = false, to_rows = false;
  int64_t images = 1, plane = 1, channels = 1;  // a plane has so many pixels

  /// As rows of rows.clh.
  RowExtents rows() const {
    return {.outer = images, .row = DivideUp(channels, 4), .inner = plane};
  }
};

/// Pixels: a batch, channels, then the axes of a plane.
struct PixelShape {
  int64_t images, channels, plane;
  bool operator==(const PixelShape&) const = default;
};

PixelShape PixelsOf(const Shape& shape) {
  return {shape[0], shape[1], shape.Count(2, shape.rank())};
}

/// Whether a Transpose moves axis `from` to place `to` and keeps the order of the others.
bool MovesAxis(const ir::Node& node, int64_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != from) axes.push_back(axis);
  axes.insert(axes.begin() + to, from);
  return node.attributes.Ints("perm") == axes;
}

/// The Transpose among nodes [first, last), which are views otherwise.
Result<size_t> FindTranspose(const ir::Graph& group, size_t first, size_t last) {
  size_t found = last;
  for (size_t i = first; i < last; ++i) {
    const ir::Node& node = group.nodes()[i];
    if (node.op == "Transpose"_op && found == last) {
      found = i;
    } else if (!node.op->Has(ir::Trait::kKeepsBytes)) {
      return Unsupported("{} beside a normalisation of channels", node.op->name);
    }
  }
  if (found == last) return Unsupported("no Transpose of the channels");
  return found;
}

/// The pixels whose channels nodes [first, last) move behind the plane's axes or, `back`, before
/// them. Where channels are second, views keep images, channels and planes; where they are last,
/// rows of all channels.
Result<PixelShape> ReadMoves(const ir::Graph& group, size_t first, size_t last, bool back) {
  ASSIGN_OR_RETURN(const size_t turn, FindTranspose(group, first, last));
  const auto shape_before = [&](size_t i) -> const Shape& {
    const ir::ValueId id =
        i == last ? group.nodes()[last - 1].output(0) : group.nodes()[i].inputs[0];
    return *group.value(id).shape;
  };
  const Shape& outer = shape_before(back ? last : first);
  if (!HasVolumeRank(outer)) return Unsupported("pixels of rank {}", outer.rank());
  const PixelShape pixels = PixelsOf(outer);
  for (size_t i = first; i <= last; ++i) {
    const Shape& shape = shape_before(i);
    const bool is_second = (i <= turn) != back;
    const bool is_kept = is_second ? shape.rank() >= 3 && PixelsOf(shape) == pixels
                                   : shape.rank() > 0 && shape[shape.rank() - 1] == pixels.channels;
    if (!is_kept) return Unsupported("a view {} that changes channels", shape.ToString());
  }
  const int64_t rank = shape_before(turn).rank();
  if (!MovesAxis(group.nodes()[turn], rank, back ? rank - 1 : 1, back ? 1 : rank - 1))
    return Unsupported("a Transpose of more than the channels");
  return pixels;
}

/// Each node but the first reads what the one before it made.
Status CheckRow(const ir::Graph& group) {
  for (size_t i = 1; i < group.nodes().size(); ++i)
    if (group.nodes()[i].inputs[0] != group.nodes()[i - 1].output(0))
      return Unsupported("the nodes are not a chain");
  if (group.inputs.size() != 1 || group.outputs.size() != 1)
    return Unsupported("several operands or results");
  return OkStatus();
}

Result<ChannelNorm> Read(const ir::Graph& group, const Device&) {
  const size_t count = group.nodes().size();
  size_t at = 0;
  while (at < count && !IsRowNormalisation(group.nodes()[at])) ++at;
  if (count < 2 || at == count)
    return Unsupported("computes normalisations beside a Transpose only");
  RETURN_IF_ERROR(CheckRow(group));
  const ir::Node& norm = group.nodes()[at];
  ChannelNorm made{.epsilon = static_cast<float>(norm.attributes.Float("epsilon", 1e-5)),
                   .takes_mean = norm.op == "LayerNormalization"_op,
                   .from_rows = at == 0,
                   .to_rows = at + 1 == count};
  std::optional<PixelShape> pixels;
  if (!made.from_rows) {
    ASSIGN_OR_RETURN(pixels, ReadMoves(group, 0, at, false));
  }
  if (!made.to_rows) {
    ASSIGN_OR_RETURN(const PixelShape behind, ReadMoves(group, at + 1, count, true));
    if (pixels && *pixels != behind) return Unsupported("other pixels behind than before");
    pixels = behind;
  }
  if (pixels->images * pixels->plane * pixels->channels == 0)
    return Unsupported("nothing to normalise");
  made.images = pixels->images, made.plane = pixels->plane, made.channels = pixels->channels;
  ASSIGN_OR_RETURN(const int64_t length, LengthOfRows(group, norm));
  if (length != made.channels) return Unsupported("rows of {} are normalised", length);
  for (size_t i = 1; i <= (norm.input(2) == ir::kAbsent ? 1 : 2); ++i) {
    if (norm.input(i) == ir::kAbsent) return Unsupported("no scale");
    ASSIGN_OR_RETURN(made.packs.emplace_back(),
                     VectorPack(group, norm.input(i), length, DivideUp(length, 4) * 4));
  }
  return made;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ChannelNorm& norm,
                                            const Device& device) {
  const ir::Value &x = group.value(group.inputs[0]), &y = group.value(group.outputs[0]);
  if (!IsFloatValue(x.dtype) || !IsFloatValue(y.dtype)) return Unsupported("expected floats");
  std::vector<StateAssignment> all;
  for (const State& like : PixelStates(device)) {
    const auto of = [&](const ir::Value& value, bool is_rows) {
      return is_rows ? RowStateOf(value, like) : StateBeside(value, like, value.shape->rank());
    };
    const State in = of(x, norm.from_rows), out = of(y, norm.to_rows);
    // Images of volumes there are none.
    if (IsPixels(in) != norm.from_rows && IsPixels(out) != norm.to_rows)
      all.push_back({.inputs = {in}, .outputs = {out}});
  }
  return all;
}

/// Pixels beside each other, each with enough work-items to fill a GPU; one each on a CPU.
RowShape UsualShape(const ChannelNorm& norm, const OpenClFacts& facts) {
  constexpr int64_t kColumns = 16, kFewItems = 16, kManyItems = 64, kRowsOfUnit = 1024;
  const RowExtents rows = norm.rows();
  const int64_t count = rows.outer * rows.inner;
  if (facts.is_cpu || rows.inner < kColumns || count > kRowsOfUnit * facts.compute_units) return {};
  const bool is_long = rows.row >= kManyItems && count <= kColumns * facts.compute_units;
  const RowShape shape{is_long ? kManyItems : kFewItems, kColumns};
  const bool fits = shape.items * shape.columns <= static_cast<int64_t>(facts.max_work_group_size);
  return fits && rows.row >= kFewItems / 2 ? shape : RowShape{};
}

ParamSpace Space(const Problem&, const ChannelNorm& norm, const Device& device) {
  ParamSpace space = RowSpace(norm.rows(), device);
  kRowFields.Write(UsualShape(norm, AsOpenCl(device).facts()), space.usual);
  return space;
}

BuildOptions OptionsOf(const ChannelNorm& norm, const RowShape& shape, const State& pixels) {
  BuildOptions options = AccessOptions(pixels);
  kRowFields.Define(shape, options);
  options.Define("FROM_ROWS", norm.from_rows ? 1 : 0);
  options.Define("TO_ROWS", norm.to_rows ? 1 : 0);
  options.Define("WHOLE", norm.channels % 4 == 0 ? 1 : 0);
  const int64_t held = DivideUp(norm.rows().row, shape.items);
  if (held <= kMostHeld) options.Define("HELD", held);
  return options;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ChannelNorm& norm,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const State &in = problem.states.inputs[0], &out = problem.states.outputs[0];
  const RowShape shape = kRowFields.Read(params);
  const RowExtents rows = norm.rows();
  const int64_t count = rows.outer * rows.inner;
  const BuildOptions options = OptionsOf(norm, shape, norm.to_rows ? in : out);
  const WorkSizes sizes =
      shape.items > 1 ? GroupSizes(shape.items * shape.columns, 1, DivideUp(count, shape.columns))
                      : PlaceSizes(count);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("norm/channels.cl", options), "channels"));
  const auto unit = [](const State& state) {
    return IsPixels(state) ? PixelBytes(state.storage) : StorageBytes(state.storage, 1);
  };
  const auto dims = [&](ir::ValueId id, bool is_rows) {
    return is_rows ? Int4(0, 0, 0, 0) : PixelDims(problem.shape(id));
  };
  auto made = std::make_unique<RecordedKernel>();
  made->own_packs = norm.packs;
  made->recorded.emplace_back(std::move(kernel), sizes)
      .Input(0, unit(in))
      .Value(dims(group.inputs[0], norm.from_rows))
      .Output(0, unit(out))
      .Value(dims(group.outputs[0], norm.to_rows))
      .Packed(0, sizeof(float))
      .Packed(norm.packs.size() - 1, sizeof(float))
      .Int(norm.takes_mean ? 1 : 0)
      .Int(norm.packs.size() > 1 ? 1 : 0)
      .Value(static_cast<cl_float>(norm.epsilon))
      .Int(norm.channels)
      .Int(norm.plane)
      .Int(count);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ChannelNorm> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormChannels;
const KernelDesc kOpenClNormChannels = {.name = "opencl.norm.channels",
                                        .match = MatchAs<kFamily>,
                                        .parameters = ParametersOf<kRowFields>};

}  // namespace fettle::kernels
