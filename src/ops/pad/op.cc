#include "ops/pad/op.h"

#include <algorithm>

#include "ops/import.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

constexpr int64_t kMaxPad = int64_t{1} << 32;

Result<PadMode> ReadMode(const ir::Node& node) {
  const std::string mode = node.attributes.Text("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  return InvalidModel("attribute 'mode': expected constant|reflect|edge|wrap, got '{}'", mode);
}

Status InferPad(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kAllTypes));
  if (context.has_input(2) && context.dtype(2) != context.dtype(0)) {
    return InvalidModel("value: expected {}, got {}", DTypeName(context.dtype(0)),
                        DTypeName(context.dtype(2)));
  }
  for (int i : {1, 3}) {
    if (context.has_input(i) && context.value(i) == nullptr) {
      context.MarkDataDependent(i);
      return OkStatus();
    }
  }
  const std::vector<int64_t> pads = context.Ints(1), axes = context.Ints(3);
  ASSIGN_OR_RETURN(const PadAttributes pad, ReadPad(context.node(), context.shape(0), pads,
                                                    context.has_input(3) ? &axes : nullptr));
  if (context.has_input(2) && context.shape(2).elements() != 1)
    return InvalidModel("value: expected one element, got {}", context.shape(2).ToString());
  context.SetOutput(0, context.dtype(0), pad.output);
  return OkStatus();
}

/// Opset 1 and 2: pads and value were attributes.
Status ImportPad2(ImportContext& context) {
  const ir::Attributes& old = context.attributes();
  const std::vector<int64_t> pads = old.Ints(old.Has("paddings") ? "paddings" : "pads");
  const double value = old.Float("value", 0);
  // The value's type is that of the input, unknown here: CastLike ties them where it matters.
  ir::ValueId fill = ir::kAbsent;
  if (value != 0)
    fill = context.Emit1("CastLike", {context.ConstScalar(DType::kF32, value), context.input(0)});
  context.Bind(0, context.Emit1("Pad", {context.input(0), context.ConstInts(pads), fill},
                                {{"mode", old.Text("mode", "constant")}}));
  return OkStatus();
}

/// Pads may also come as one row.
Status ImportContribPad(ImportContext& context) {
  const ir::ValueId pads = context.Emit1("Reshape", {context.input(1), context.ConstInts({-1})});
  context.Bind(0, context.Emit1("Pad", {context.input(0), pads, context.input(2)},
                                {{"mode", context.attributes().Text("mode", "constant")}}));
  return OkStatus();
}

constexpr ImportRule kPadImports[] = {
    {.op_type = "Pad", .since = 1, .until = 10, .run = ImportPad2},
    {.op_type = "Pad", .since = 11},
    {.op_type = "Pad", .run = ImportContribPad, .domain = "com.microsoft"},
};

}  // namespace

Result<PadAttributes> ReadPad(const ir::Node& node, const Shape& input,
                              std::span<const int64_t> pads, const std::vector<int64_t>* axes) {
  PadAttributes pad;
  ASSIGN_OR_RETURN(pad.mode, ReadMode(node));
  const size_t rank = input.rank();
  const size_t count = axes == nullptr ? rank : axes->size();
  if (pads.size() != 2 * count)
    return InvalidModel("pads: expected {} values, got {}", 2 * count, pads.size());
  pad.begin.assign(rank, 0);
  pad.end.assign(rank, 0);
  for (size_t i = 0; i < count; ++i) {
    const auto axis =
        NormaliseAxis(axes == nullptr ? static_cast<int64_t>(i) : (*axes)[i], input.rank());
    if (!axis) return InvalidModel("axes: {} is out of range", (*axes)[i]);
    pad.begin[*axis] = pads[i];
    pad.end[*axis] = pads[i + count];
  }
  pad.output = input;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const int64_t begin = pad.begin[axis];
    const int64_t end = pad.end[axis];
    if (std::min(begin, end) < -kMaxPad || std::max(begin, end) > kMaxPad)
      return InvalidModel("pads: {} or {} is out of range", begin, end);
    pad.output[axis] += begin + end;
    const int64_t kept = input[axis] + std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0);
    if (kept < 0 || pad.output[axis] < 0)
      return InvalidModel("pads crop more than axis {} of {} has", axis, input.ToString());
    if (pad.mode != PadMode::kConstant && kept == 0 && pad.output[axis] > 0)
      return InvalidModel("nothing to repeat on axis {} of {}", axis, input.ToString());
  }
  return pad;
}

std::vector<int64_t> PadSources(const PadAttributes& pad, const Shape& input, int axis,
                                int64_t first, int64_t last) {
  const int64_t begin = pad.begin[axis];
  const int64_t end = pad.end[axis];
  // Cropping comes first: the modes repeat what is left.
  const int64_t cropped = std::max<int64_t>(-begin, 0);
  const int64_t kept = input[axis] - cropped + std::min<int64_t>(end, 0);
  std::vector<int64_t> sources;
  sources.reserve(last - first);
  for (int64_t i = first; i < last; ++i) {
    int64_t at = i - std::max<int64_t>(begin, 0);
    if (pad.mode == PadMode::kEdge) at = std::clamp<int64_t>(at, 0, kept - 1);
    if (pad.mode == PadMode::kWrap) at = (at % kept + kept) % kept;
    if (pad.mode == PadMode::kReflect && kept > 1) {
      const int64_t period = 2 * (kept - 1);
      at = (at % period + period) % period;
      at = std::min(at, period - at);
    } else if (pad.mode == PadMode::kReflect) {
      at = 0;
    }
    sources.push_back(at >= 0 && at < kept ? cropped + at : -1);
  }
  return sources;
}

Status PadReference(const RefContext& context, const Region& region);

std::span<const Operator> PadOps() {
  static const Operator kOps[] = {
      {{.name = "Pad",
        .traits = {Trait::kTakesEpilogue},
        .min_inputs = 2,
        .max_inputs = 4,
        .host_inputs = 1u << 1 | 1u << 3},
       {.infer = InferPad, .reference = PadReference, .imports = kPadImports, .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
