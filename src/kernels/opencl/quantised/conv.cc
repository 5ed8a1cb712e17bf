// opencl.quantised.conv: convolutions of bytes in a group of DequantizeLinear, Conv and what
// follows, to bytes or to floats.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "kernels/quantised_group.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products of a byte and a weight less its zero point that int holds.
constexpr int64_t kMaxDepth = 33000;

struct QuantisedConv {
  QuantisedGroup q;
  PixelConv conv;
  int64_t x_zero = 0;
};

Result<QuantisedConv> ReadQuantisedConv(const ir::Graph& group) {
  QuantisedConv read;
  ASSIGN_OR_RETURN(read.q, ReadQuantisedGroup(group));
  const QuantisedGroup& q = read.q;
  if (q.core->op != "Conv") return Unsupported("{} is no convolution", q.core->op);
  if (group.outputs.size() != 1) return Unsupported("a value inside the group is an output");
  if (q.x_zero != ir::kAbsent) read.x_zero = group.value(q.x_zero).constant->GetInt(0);
  RETURN_IF_ERROR(ReadPixelGeometry(group, *q.core, read.conv));
  if (read.conv.ic / read.conv.groups * read.conv.taps() > kMaxDepth)
    return Unsupported("sums of over {} products", kMaxDepth);
  return read;
}

/// One constant for each output channel, or one for all; `fallback` where it is absent.
class PerChannel {
 public:
  PerChannel(const Constant* constant, double fallback)
      : constant_(constant), fallback_(fallback) {}
  double operator[](int64_t o) const {
    if (constant_ == nullptr) return fallback_;
    return constant_->GetDouble(constant_->elements() == 1 ? 0 : o);
  }

 private:
  const Constant* constant_;
  double fallback_;
};

/// Whether weights less their zero points are bytes.
bool WeightsAreSmall(const ir::Graph& group, const QuantisedGroup& q) {
  if (group.value(q.w).dtype != DType::kI8) return false;
  if (q.w_zero == ir::kAbsent) return true;
  const Constant& zeros = *group.value(q.w_zero).constant;
  for (int64_t i = 0; i < zeros.elements(); ++i) {
    if (zeros.GetInt(i) != 0) return false;
  }
  return true;
}

State ByteState(DType storage) {
  return {.device = DeviceKind::kOpenCl,
          .memory = MemoryKind::kBuffer,
          .layout = *LayoutFromName("NCHW4c", 4),
          .storage = storage};
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const QuantisedConv read, ReadQuantisedConv(group));
  const size_t input = InputIndex(group, read.q.x);
  const State bytes = ByteState(group.value(read.q.x).dtype);
  if (read.q.requantise) {
    if (group.inputs.size() != 1) return Unsupported("other operands than the input");
    return std::vector<StateAssignment>{
        {{bytes}, {ByteState(group.value(group.outputs[0]).dtype)}}};
  }
  std::vector<StateAssignment> all;
  for (const State& state : PixelStates(device)) {
    StateAssignment states = StatesBeside(group, state);
    states.inputs[input] = bytes;
    RETURN_IF_ERROR(Expression::Compile(group, states, read.q.anchor()).status());
    if (!IsPixels(states.outputs[0])) return Unsupported("an output of this type");
    all.push_back(std::move(states));
  }
  return all;
}

/// What the packed form depends on besides the constants.
struct FilterRecipe {
  PixelConv conv;
  QuadPlan plan;
  int64_t taps = 1, x_zero = 0;
  double x_scale = 1, y_scale = 1;
  bool dot = false;
  bool has_scale = false, has_zero = false, has_bias = false, has_bias_scale = false;

  int64_t padded() const { return plan.blocks * plan.lanes; }
  int64_t elements() const { return padded() * plan.depth * taps * 4; }
  int64_t bytes() const { return padded() * 12 + elements() * (dot ? 1 : 2); }
};

/// Constants: weights, then those of scale, zero point, bias and its scale that are there.
void PackFilter(const FilterRecipe& recipe, std::span<const Constant* const> constants,
                std::byte* out) {
  size_t next = 1;
  const auto take = [&](bool is_there, double fallback) {
    return PerChannel(is_there ? constants[next++] : nullptr, fallback);
  };
  const PerChannel scale = take(recipe.has_scale, 1), zero = take(recipe.has_zero, 0);
  const PerChannel bias = take(recipe.has_bias, 0), bias_scale = take(recipe.has_bias_scale, 1);
  const std::vector<float> weights = AllFloats(*constants[0]);
  const QuadPlan& plan = recipe.plan;
  const int64_t oc = recipe.conv.oc, depth = plan.group_ic * recipe.taps;
  std::memset(out, 0, static_cast<size_t>(recipe.bytes()));
  auto* begin = reinterpret_cast<int32_t*>(out);
  auto* scales = reinterpret_cast<float*>(begin + recipe.padded());
  auto* addends = scales + recipe.padded();
  for (int64_t o = 0; o < oc; ++o) {
    double sum = 0;
    for (int64_t i = 0; i < depth; ++i)
      sum += static_cast<double>(weights[static_cast<size_t>(o * depth + i)]) - zero[o];
    begin[o] = static_cast<int32_t>(-sum * static_cast<double>(recipe.x_zero));
    scales[o] = static_cast<float>(recipe.x_scale * scale[o] / recipe.y_scale);
    addends[o] = static_cast<float>(bias[o] * bias_scale[o] / recipe.y_scale);
  }
  auto* packed = reinterpret_cast<std::byte*>(addends + recipe.padded());
  for (int64_t i = 0; i < recipe.elements(); ++i) {
    const int64_t in_quad = i % (4 * plan.lanes), quad = i / (4 * plan.lanes * recipe.taps);
    const int64_t block = quad / plan.depth;
    const int64_t o = block * plan.lanes + (recipe.dot ? in_quad / 4 : in_quad % plan.lanes);
    const int64_t c = (plan.First(block) + quad % plan.depth) * 4 +
                      (recipe.dot ? in_quad % 4 : in_quad / plan.lanes);
    const int64_t in_group = c - o / plan.group_oc * plan.group_ic;
    if (o >= oc || in_group < 0 || in_group >= plan.group_ic) continue;
    const int64_t from =
        (o * plan.group_ic + in_group) * recipe.taps + i / (4 * plan.lanes) % recipe.taps;
    const double value = static_cast<double>(weights[static_cast<size_t>(from)]) - zero[o];
    if (recipe.dot) {
      reinterpret_cast<int8_t*>(packed)[i] = static_cast<int8_t>(value);
    } else {
      reinterpret_cast<int16_t*>(packed)[i] = static_cast<int16_t>(value);
    }
  }
}

class Quantised final : public PreparedKernel {
 public:
  Quantised(const Problem& problem, const QuantisedConv& read, const Params& params,
            Expression expression, std::shared_ptr<OpenClKernel> kernel)
      : read_(read),
        out_state_(problem.states.outputs[0]),
        in_dims_(PixelDims(problem.shape(read.q.x))),
        out_dims_(PixelDims(problem.shape(read.q.anchor()))),
        input_(InputIndex(*problem.group, read.q.x)),
        expression_(std::move(expression)),
        kernel_(std::move(kernel)) {
    const TileShape tile = ReadTile(params);
    const QuantisedGroup& q = read.q;
    recipe_ = {.conv = read.conv,
               .plan = PlanQuads(read.conv, tile),
               .taps = read.conv.taps(),
               .x_zero = read.x_zero,
               .x_scale = q.x_scale,
               .y_scale = q.requantise ? q.requantise->scale : 1,
               .dot = params.at("dot") != 0,
               .has_scale = q.w_scale != ir::kAbsent,
               .has_zero = q.w_zero != ir::kAbsent,
               .has_bias = q.bias != ir::kAbsent,
               .has_bias_scale = q.bias_scale != ir::kAbsent};
    sizes_ = PlaceSizes(read.conv.out[0] * DivideUp(read.conv.out[1], tile.columns),
                        recipe_.plan.blocks, read.conv.batch);
    sizes_.lws = GroupOf(params);
  }

  std::vector<PackRequest> packs() const override {
    const QuantisedGroup& q = read_.q;
    PackRequest request{.constants = {q.w}};
    for (ir::ValueId id : {q.w_scale, q.w_zero, q.bias, q.bias_scale}) {
      if (id != ir::kAbsent) request.constants.push_back(id);
    }
    request.recipe =
        fmt::format("opencl.quantised.{}.{}.{}.{}.{}.{}.{}{}{}{}", recipe_.plan.lanes,
                    read_.conv.groups, recipe_.dot ? "dot" : "short", recipe_.x_zero,
                    recipe_.x_scale, recipe_.y_scale, int{recipe_.has_scale}, int{recipe_.has_zero},
                    int{recipe_.has_bias}, int{recipe_.has_bias_scale});
    request.bytes = recipe_.bytes();
    request.pack = [recipe = recipe_](std::span<const Constant* const> constants, std::byte* out) {
      PackFilter(recipe, constants, out);
      return OkStatus();
    };
    std::vector<PackRequest> all{std::move(request)};
    all.insert(all.end(), expression_.packs().begin(), expression_.packs().end());
    return all;
  }

  Status Launch(const LaunchArgs& args) const override {
    const PixelConv& conv = read_.conv;
    ArgList list;
    list.Tensor(args.inputs[input_], 4).Value(in_dims_);
    list.Tensor(args.outputs[0], PixelBytes(out_state_.storage)).Value(out_dims_);
    list.Value(static_cast<cl_int>(conv.oc)).Memory(args.packed[0]);
    list.Value(static_cast<cl_int>(recipe_.padded())).Value(WindowArg(conv));
    list.Value(BordersArg(conv)).Value(static_cast<cl_int>(recipe_.plan.depth));
    list.Value(Int2(recipe_.plan.group_ic, recipe_.plan.group_oc));
    list.Value(static_cast<cl_int>(read_.x_zero));
    const QuantisedGroup::Requantise r = read_.q.requantise.value_or(QuantisedGroup::Requantise{});
    list.Value(static_cast<cl_int>(r.zero));
    list.Value(
        cl_float2{{static_cast<float>(r.low - r.zero), static_cast<float>(r.high - r.zero)}});
    expression_.AppendArgs(args, 1, list);
    return OpenClStreamOf(args).Launch(*kernel_, sizes_, list.args());
  }

 private:
  QuantisedConv read_;
  State out_state_;
  cl_int4 in_dims_, out_dims_;
  size_t input_;
  FilterRecipe recipe_;
  WorkSizes sizes_;
  Expression expression_;
  std::shared_ptr<OpenClKernel> kernel_;
};

bool TakesDot(const Problem& problem, const Device& device) {
  const QuantisedConv read = ReadQuantisedConv(*problem.group).value();
  return AsOpenCl(device).facts().int8_dot && WeightsAreSmall(*problem.group, read.q);
}

std::vector<Tunable> Tunables(const Problem& problem, const Device& device) {
  std::vector<Tunable> all{{"dot", {0}}};
  if (TakesDot(problem, device)) all[0].values.push_back(1);
  const PixelConv conv = ReadQuantisedConv(*problem.group).value().conv;
  for (Tunable& tunable : TileTunables(conv)) all.push_back(std::move(tunable));
  return all;
}

Params Defaults(const Problem& problem, const Device& device) {
  Params params = TileDefaults(ReadQuantisedConv(*problem.group).value().conv);
  params["dot"] = TakesDot(problem, device) ? 1 : 0;
  return params;
}

BuildOptions Options(const Problem& problem, const QuantisedConv& read, const Params& params) {
  const bool to_bytes = read.q.requantise.has_value();
  State pixels = problem.states.outputs[0];
  if (to_bytes) pixels.storage = DType::kF32;
  BuildOptions options = TileOptions(params, pixels);
  const auto name = [](DType type) { return type == DType::kI8 ? "char" : "uchar"; };
  const DType in = problem.group->value(read.q.x).dtype;
  options.Add(fmt::format("-DIN_TYPE={0} -DIN_VECTOR={0}4", name(in)));
  options.Define("BYTES", to_bytes ? 1 : 0).Define("DOT", params.at("dot"));
  if (to_bytes)
    options.Add(fmt::format("-DOUT_TYPE={0} -DOUT_CONVERT=convert_{0}4",
                            name(problem.states.outputs[0].storage)));
  return options;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const QuantisedConv read, ReadQuantisedConv(*problem.group));
  Expression expression;
  if (!read.q.requantise) {
    ASSIGN_OR_RETURN(expression,
                     Expression::Compile(*problem.group, problem.states, read.q.anchor()));
  }
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("quantised/conv.cl", Options(problem, read, params), expression.text()),
          "quantised_conv"));
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<Quantised>(problem, read, params, std::move(expression), std::move(kernel)));
}

}  // namespace

extern const KernelDesc kOpenClQuantisedConv;
const KernelDesc kOpenClQuantisedConv = {
    .name = "opencl.quantised.conv",
    .device = DeviceKind::kOpenCl,
    .preference = 15,
    .candidates = Candidates,
    .prepare = Prepare,
    .tunables = Tunables,
    .valid = [](const Problem&, const Params& params,
                const Device& device) { return CheckGroup(params, device); },
    .default_params = Defaults};

}  // namespace fettle::kernels
