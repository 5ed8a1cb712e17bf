#include "ops/op.h"

#include <algorithm>

#include "ops/infer.h"
#include "ops/resize/op.h"

namespace fettle::ops {
namespace {

/// Marks the first of `inputs` whose value is not known; true if there is one.
bool NeedsValue(InferContext& context, std::initializer_list<int> inputs) {
  for (int i : inputs) {
    if (!context.has_input(i) || context.value(i) != nullptr) continue;
    context.MarkDataDependent(i);
    return true;
  }
  return false;
}

std::vector<double> Doubles(const InferContext& context, int i) {
  std::vector<double> values;
  const Constant* constant = context.value(i);
  if (constant == nullptr) return values;
  for (int64_t k = 0; k < constant->elements(); ++k) values.push_back(constant->GetDouble(k));
  return values;
}

Status InferResize(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kAllTypes));
  if (NeedsValue(context, {1, 2, 3})) return OkStatus();
  const ResizeOperands operands = {Doubles(context, 1), Doubles(context, 2), context.Ints(3)};
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const ResizeAttributes resize, ReadResize(context.node(), x, operands));
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i] == 0 && resize.output[i] != 0)
      return InvalidModel("cannot resize the empty input {}", x.ToString());
  }
  context.SetOutput(0, context.dtype(0), resize.output);
  return OkStatus();
}

Status InferGridSample(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kNumericTypes));
  RETURN_IF_ERROR(CheckType(context, 1, kFloatTypes));
  const Shape &x = context.shape(0), &grid = context.shape(1);
  RETURN_IF_ERROR(ReadGridSample(context.node()).status());
  if (x.rank() < 3 || grid.rank() != x.rank() || grid[0] != x[0] ||
      grid[grid.rank() - 1] != x.rank() - 2) {
    return InvalidModel("input {} and grid {} do not fit", x.ToString(), grid.ToString());
  }
  Dims out = {x[0], x[1]};
  for (int i = 1; i + 1 < grid.rank(); ++i) out.push_back(grid[i]);
  if (x.elements() == 0 && Shape(out).elements() != 0)
    return InvalidModel("cannot sample the empty input {}", x.ToString());
  context.SetOutput(0, context.dtype(0), Shape(out));
  return OkStatus();
}

Status InferAffineGrid(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  if (NeedsValue(context, {1})) return OkStatus();
  const std::vector<int64_t> size = context.Ints(1);
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  if (axes != 2 && axes != 3)
    return InvalidModel("size: expected 4 or 5 values, got {}", size.size());
  if (context.shape(0) != Shape{size[0], axes, axes + 1})
    return InvalidModel("theta {} does not fit the size", context.shape(0).ToString());
  Dims out = {size[0]};
  out.insert(out.end(), size.begin() + 2, size.end());
  out.push_back(axes);
  context.SetOutput(0, context.dtype(0), Shape(out));
  return OkStatus();
}

Status CheckDepthMode(const ir::Attributes& attributes) {
  const std::string mode = attributes.Text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return InvalidModel("attribute 'mode': expected DCR|CRD, got '{}'", mode);
  return OkStatus();
}

Status InferDepthSpace(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kAllTypes));
  const Shape& x = context.shape(0);
  const int64_t block = context.attributes().Int("blocksize", 0);
  const bool to_space = context.node().op == "DepthToSpace"_op;
  if (block < 1 || block > 1024)
    return InvalidModel("attribute 'blocksize': {} is out of range", block);
  if (x.rank() != 4) return InvalidModel("expected an input of rank 4, got {}", x.ToString());
  RETURN_IF_ERROR(CheckDepthMode(context.attributes()));
  if (to_space ? x[1] % (block * block) != 0 : x[2] % block != 0 || x[3] % block != 0)
    return InvalidModel("blocksize {} does not divide {}", block, x.ToString());
  const Shape out = to_space ? Shape{x[0], x[1] / (block * block), x[2] * block, x[3] * block}
                             : Shape{x[0], x[1] * block * block, x[2] / block, x[3] / block};
  context.SetOutput(0, context.dtype(0), out);
  return OkStatus();
}

Status InferCenterCropPad(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kAllTypes));
  if (NeedsValue(context, {1})) return OkStatus();
  ASSIGN_OR_RETURN(CenterCropPadAttributes crop,
                   ReadCenterCropPad(context.node(), context.shape(0), context.Ints(1)));
  context.SetOutput(0, context.dtype(0), std::move(crop.output));
  return OkStatus();
}

Status InferCol2Im(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kNumericTypes));
  if (NeedsValue(context, {1, 2})) return OkStatus();
  const Shape& x = context.shape(0);
  const std::vector<int64_t> image = context.Ints(1), block = context.Ints(2);
  ASSIGN_OR_RETURN(const Col2ImAttributes col, ReadCol2Im(context.node(), image, block));
  const auto taps = Shape(col.block).CheckedElements();
  const auto positions = Shape(col.positions).CheckedElements();
  if (x.rank() != 3 || !taps || !positions || x[1] % *taps != 0 || x[2] != *positions)
    return InvalidModel("the input {} does not fit image and block", x.ToString());
  Dims out = {x[0], x[1] / *taps};
  out.insert(out.end(), image.begin(), image.end());
  context.SetOutput(0, context.dtype(0), Shape(out));
  return OkStatus();
}

constexpr ImportRule kAffineGridImports[] = {{.op_type = "AffineGrid", .since = 20}};
constexpr ImportRule kDepthToSpaceImports[] = {{.op_type = "DepthToSpace"}};
constexpr ImportRule kSpaceToDepthImports[] = {{.op_type = "SpaceToDepth"}};
constexpr ImportRule kCenterCropPadImports[] = {{.op_type = "CenterCropPad", .since = 18}};
constexpr ImportRule kCol2ImImports[] = {{.op_type = "Col2Im", .since = 18}};

}  // namespace

Status ResizeReference(const RefContext& context, const Region& region);
Status GridSampleReference(const RefContext& context, const Region& region);
Status AffineGridReference(const RefContext& context, const Region& region);
Status DepthSpaceReference(const RefContext& context, const Region& region);
Status CenterCropPadReference(const RefContext& context, const Region& region);
Status Col2ImReference(const RefContext& context, const Region& region);
std::span<const ImportRule> ResizeImports();
std::span<const ImportRule> GridSampleImports();

std::span<const Operator> ResizeOps() {
  static const Operator kOps[] = {
      {{.name = "AffineGrid", .min_inputs = 2, .max_inputs = 2, .host_inputs = 1u << 1},
       {.infer = InferAffineGrid, .reference = AffineGridReference, .imports = kAffineGridImports}},
      {{.name = "CenterCropPad", .min_inputs = 2, .max_inputs = 2, .host_inputs = 1u << 1},
       {.infer = InferCenterCropPad,
        .reference = CenterCropPadReference,
        .imports = kCenterCropPadImports,
        .types = "all"}},
      {{.name = "Col2Im", .min_inputs = 3, .max_inputs = 3, .host_inputs = 1u << 1 | 1u << 2},
       {.infer = InferCol2Im,
        .reference = Col2ImReference,
        .imports = kCol2ImImports,
        .types = "floats, integers"}},
      {{.name = "DepthToSpace", .traits = {Trait::kTakesEpilogue, Trait::kMovesElements}},
       {.infer = InferDepthSpace,
        .reference = DepthSpaceReference,
        .imports = kDepthToSpaceImports,
        .types = "all"}},
      {{.name = "GridSample", .min_inputs = 2, .max_inputs = 2},
       {.infer = InferGridSample,
        .reference = GridSampleReference,
        .imports = GridSampleImports(),
        .types = "floats, integers"}},
      {{.name = "Resize",
        .traits = {Trait::kTakesEpilogue},
        .max_inputs = 4,
        .host_inputs = 1u << 1 | 1u << 2 | 1u << 3},
       {.infer = InferResize,
        .reference = ResizeReference,
        .imports = ResizeImports(),
        .types = "all",
        .refused = "nothing; align_corners with scales that give fractional sizes follows the ONNX "
                   "reference, ONNX Runtime does not"}},
      {{.name = "SpaceToDepth", .traits = {Trait::kMovesElements}},
       {.infer = InferDepthSpace,
        .reference = DepthSpaceReference,
        .imports = kSpaceToDepthImports,
        .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
