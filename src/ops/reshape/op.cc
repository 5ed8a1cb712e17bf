#include "ops/reshape/op.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ops/host_ints.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Status InferReshape(InferContext& context) {
  std::vector<int64_t> target;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "shape", target));
  if (!known) return OkStatus();
  ASSIGN_OR_RETURN(Shape shape, ResolveReshape(context.shape(0), target,
                                               context.attributes().Int("allowzero") != 0));
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferSqueeze(InferContext& context) {
  std::vector<int64_t> axes;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "axes", axes));
  if (!known) return OkStatus();
  Shape shape = context.shape(0);
  // An empty `axes` operand names no axis; an absent one means all of extent 1.
  if (!context.has_input(1) || !axes.empty()) {
    ASSIGN_OR_RETURN(shape, ResolveSqueeze(context.shape(0), axes));
  }
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferUnsqueeze(InferContext& context) {
  std::vector<int64_t> axes;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "axes", axes));
  if (!known) return OkStatus();
  ASSIGN_OR_RETURN(Shape shape, ResolveUnsqueeze(context.shape(0), axes));
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferFlatten(InferContext& context) {
  ASSIGN_OR_RETURN(Shape shape,
                   ResolveFlatten(context.shape(0), context.attributes().Int("axis", 1)));
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferIdentity(InferContext& context) {
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

Status InferShape(InferContext& context) {
  std::optional<int64_t> end;
  if (context.attributes().Has("end")) end = context.attributes().Int("end");
  const AxisRange range =
      ResolveShapeRange(context.shape(0).rank(), context.attributes().Int("start"), end);
  context.SetOutput(0, DType::kI64, Shape{range.end - range.begin});
  return OkStatus();
}

Status InferSize(InferContext& context) {
  context.SetOutput(0, DType::kI64, Shape{});
  return OkStatus();
}

Status InferExpand(InferContext& context) {
  std::vector<int64_t> target;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "shape", target));
  if (!known) return OkStatus();
  for (int64_t dim : target) {
    if (dim < 0) return InvalidModel("input 'shape': extent {} is negative", dim);
  }
  const std::optional<Shape> shape = BroadcastShapes(context.shape(0), Shape(target));
  if (!shape) {
    return InvalidModel("shape {} does not expand to {}", context.shape(0).ToString(),
                        Shape(target).ToString());
  }
  context.SetOutput(0, context.dtype(0), *shape);
  return OkStatus();
}

Status InferTile(InferContext& context) {
  std::vector<int64_t> repeats;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "repeats", repeats));
  if (!known) return OkStatus();
  Shape shape = context.shape(0);
  if (static_cast<int>(repeats.size()) != shape.rank()) {
    return InvalidModel("input 'repeats': expected {} values, got {}", shape.rank(),
                        repeats.size());
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t repeat = repeats[axis];
    if (repeat < 0 || repeat > kMaxElements / std::max<int64_t>(shape[axis], 1))
      return InvalidModel("input 'repeats': value {} out of range", repeat);
    shape[axis] *= repeat;
  }
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

}  // namespace

Result<Shape> ResolveReshape(const Shape& input, std::span<const int64_t> target, bool allow_zero) {
  Dims dims(target.begin(), target.end());
  const auto fail = [&] {
    return InvalidModel("shape {} does not reshape to [{}]", input.ToString(),
                        fmt::join(target, ","));
  };
  // Copied extents of 0 cancel out, so that -1 beside them has a meaning.
  Dims left = input.dims(), right;
  ptrdiff_t free_axis = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (free_axis >= 0) return InvalidModel("input 'shape': more than one -1");
      free_axis = static_cast<ptrdiff_t>(i);
      continue;
    }
    if (dims[i] < 0) return InvalidModel("input 'shape': extent {} is negative", dims[i]);
    if (dims[i] == 0 && !allow_zero) {
      if (i >= input.dims().size()) return fail();
      dims[i] = input.dims()[i];
      if (dims[i] == 0) {
        left[i] = 1;
        continue;
      }
    }
    right.push_back(dims[i]);
  }
  const std::optional<int64_t> have = Shape(left).CheckedElements(),
                               named = Shape(right).CheckedElements();
  if (!have || !named) return fail();
  if (free_axis >= 0) {
    if (*named == 0 || *have % *named != 0) return fail();
    dims[free_axis] = *have / *named;
  } else if (*have != *named) {
    return fail();
  }
  return Shape(std::move(dims));
}

Result<Shape> ResolveSqueeze(const Shape& input, std::span<const int64_t> axes) {
  std::vector<bool> drop(input.rank());
  for (int64_t value : axes) {
    ASSIGN_OR_RETURN(const int axis, ReadAxis(value, input.rank()));
    if (input[axis] != 1) {
      return InvalidModel("axis {} of {} is squeezed, but its extent is not 1", axis,
                          input.ToString());
    }
    drop[axis] = true;
  }
  Dims dims;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const bool dropped = axes.empty() ? input[axis] == 1 : drop[axis];
    if (!dropped) dims.push_back(input[axis]);
  }
  return Shape(std::move(dims));
}

Result<Shape> ResolveUnsqueeze(const Shape& input, std::span<const int64_t> axes) {
  const int rank = input.rank() + static_cast<int>(axes.size());
  Dims dims(rank, -1);
  for (int64_t value : axes) {
    ASSIGN_OR_RETURN(const int axis, ReadAxis(value, rank));
    if (dims[axis] == 1) return InvalidModel("input 'axes': axis {} is named twice", value);
    dims[axis] = 1;
  }
  auto next = input.begin();
  for (int64_t& dim : dims) {
    if (dim < 0) dim = *next++;
  }
  return Shape(std::move(dims));
}

Result<Shape> ResolveFlatten(const Shape& input, int64_t axis) {
  const int rank = input.rank();
  if (axis < -rank || axis > rank)
    return InvalidModel("axis {} is out of range for rank {}", axis, rank);
  const int split = static_cast<int>(axis < 0 ? axis + rank : axis);
  return Shape{input.Count(0, split), input.Count(split, rank)};
}

AxisRange ResolveShapeRange(int rank, int64_t start, std::optional<int64_t> end) {
  const auto clamp = [rank](int64_t axis) {
    return static_cast<int>(std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
  };
  const AxisRange range{clamp(start), end ? clamp(*end) : rank};
  return {range.begin, std::max(range.begin, range.end)};
}

Status MoveReference(const RefContext& context, const Region& region);
Status ShapeReference(const RefContext& context, const Region& region);
Status SizeReference(const RefContext& context, const Region& region);
Status ExpandReference(const RefContext& context, const Region& region);
Status TileReference(const RefContext& context, const Region& region);
std::span<const ImportRule> ReshapeImports();
std::span<const ImportRule> FlattenImports();
std::span<const ImportRule> SqueezeImports();
std::span<const ImportRule> UnsqueezeImports();
std::span<const ImportRule> IdentityImports();
std::span<const ImportRule> ShapeImports();
std::span<const ImportRule> SizeImports();
std::span<const ImportRule> ExpandImports();
std::span<const ImportRule> TileImports();

std::span<const Operator> ReshapeOps() {
  static const Operator kOps[] = {
      {{.name = "Reshape",
        .traits = {Trait::kMovesElements, Trait::kKeepsBytes},
        .min_inputs = 2,
        .max_inputs = 2,
        .host_inputs = 0b10},
       {.infer = InferReshape,
        .reference = MoveReference,
        .imports = ReshapeImports(),
        .types = "all"}},
      {{.name = "Flatten", .traits = {Trait::kMovesElements, Trait::kKeepsBytes}},
       {.infer = InferFlatten,
        .reference = MoveReference,
        .imports = FlattenImports(),
        .types = "all"}},
      {{.name = "Squeeze",
        .traits = {Trait::kMovesElements, Trait::kKeepsBytes},
        .max_inputs = 2,
        .host_inputs = 0b10},
       {.infer = InferSqueeze,
        .reference = MoveReference,
        .imports = SqueezeImports(),
        .types = "all"}},
      {{.name = "Unsqueeze",
        .traits = {Trait::kMovesElements, Trait::kKeepsBytes},
        .min_inputs = 2,
        .max_inputs = 2,
        .host_inputs = 0b10},
       {.infer = InferUnsqueeze,
        .reference = MoveReference,
        .imports = UnsqueezeImports(),
        .types = "all"}},
      {{.name = "Identity",
        .traits = {Trait::kElementwise, Trait::kMovesElements, Trait::kKeepsBytes}},
       {.infer = InferIdentity,
        .reference = MoveReference,
        .imports = IdentityImports(),
        .types = "all",
        .refused = "sequences and optionals; Dropout whose training mode is no constant"}},
      {{.name = "Shape"},
       {.infer = InferShape,
        .reference = ShapeReference,
        .imports = ShapeImports(),
        .types = "all"}},
      {{.name = "Size"},
       {.infer = InferSize, .reference = SizeReference, .imports = SizeImports(), .types = "all"}},
      {{.name = "Expand",
        .traits = {Trait::kMovesElements},
        .min_inputs = 2,
        .max_inputs = 2,
        .host_inputs = 0b10},
       {.infer = InferExpand,
        .reference = ExpandReference,
        .imports = ExpandImports(),
        .types = "all"}},
      {{.name = "Tile",
        .traits = {Trait::kMovesElements},
        .min_inputs = 2,
        .max_inputs = 2,
        .host_inputs = 0b10},
       {.infer = InferTile, .reference = TileReference, .imports = TileImports(), .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
