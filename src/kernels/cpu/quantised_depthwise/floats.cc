// compiled: small
// Depthwise convolutions of bytes. Sums of at most a few hundred products of bytes are exact in
// fp32, so bytes become floats as they are loaded.
//   cpu.quantised.depthwise.nhwc    channels-last
//   cpu.quantised.depthwise.nchwc   from or to blocks of channels, or both
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/pack.h"
#include "kernels/cpu/quantised/tail.h"
#include "kernels/family.h"
#include "kernels/match/quantised_group.h"

namespace fettle::kernels {
namespace {

/// 2^24 / (255 * 255): up to here fp32 sums of products of bytes are exact.
constexpr int64_t kMaxTaps = 258;

Result<ConvGeometry> ReadGeometry(const ir::Graph& group, const QuantisedGroup& q) {
  if (q.core->op != "Conv"_op && q.core->op != "ConvInteger"_op)
    return Unsupported("{} is not a convolution", q.core->op);
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadDepthwiseGeometry(group, *q.core));
  if (g.taps() > kMaxTaps) return Unsupported("more than {} taps", kMaxTaps);
  return g;
}

struct Bytes {
  QuantisedGroup q;
  ConvGeometry g;
};

Result<Bytes> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(group));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadGeometry(group, q));
  return Bytes{q, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Bytes& bytes,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  ASSIGN_OR_RETURN(const std::optional<elementwise::Program> program,
                   CompileQuantTail(group, bytes.q, states));
  if (!bytes.q.requantise && !program && states.outputs[0].storage != DType::kF32)
    return Unsupported("sums as output");
  return std::vector<StateAssignment>{std::move(states)};
}

Result<std::vector<StateAssignment>> BlockedStates(const ir::Graph& group, const Bytes& bytes,
                                                   const Device& device) {
  ASSIGN_OR_RETURN(const std::vector<StateAssignment> usual, States(group, bytes, device));
  ASSIGN_OR_RETURN(const std::vector<ConvLayouts> layouts, DepthwiseBlockLayouts(group, bytes.g));
  return StatesIn(group, bytes.q.x, usual[0], layouts, [&](const StateAssignment& states) {
    return CompileQuantTail(group, bytes.q, states).status();
  });
}

/// The constants of a request in this order; absent ones are left out.
struct PackRecipe {
  int64_t channels = 0, taps = 0;
  bool has_scale = false, has_zero = false, has_bias = false, has_bias_scale = false;
  double x_scale = 1, y_scale = 1;
};

double At(const Constant* constant, int64_t i, double fallback) {
  if (constant == nullptr) return fallback;
  return constant->GetDouble(constant->elements() == 1 ? 0 : i);
}

/// w - zero, [tap][padded channel]; then the padded bias in units of the products; then the padded
/// scale of the sums. Sums of bytes are exact in floats, so that the one multiplication rounds as
/// that of the integer products does.
Status Pack(const PackRecipe& recipe, std::span<const Constant* const> constants, std::byte* out) {
  size_t next = 1;
  const auto take = [&](bool present) { return present ? constants[next++] : nullptr; };
  const Constant* scale = take(recipe.has_scale);
  const Constant* zero = take(recipe.has_zero);
  const Constant* bias = take(recipe.has_bias);
  const Constant* bias_scale = take(recipe.has_bias_scale);
  const int64_t padded = RoundUp(recipe.channels, kDepthwisePad);
  auto* weights = reinterpret_cast<float*>(out);
  float* biases = weights + recipe.taps * padded;
  float* scales = biases + padded;
  std::fill_n(weights, (recipe.taps + 2) * padded, 0.F);
  for (int64_t c = 0; c < recipe.channels; ++c) {
    for (int64_t t = 0; t < recipe.taps; ++t) {
      const double w = constants[0]->GetDouble(c * recipe.taps + t) - At(zero, c, 0);
      weights[t * padded + c] = static_cast<float>(w);
    }
    const QuantisedColumn column = MakeQuantisedColumn(
        recipe.x_scale, At(scale, c, 1), recipe.y_scale, At(bias, c, 0), At(bias_scale, c, 1));
    scales[c] = column.scale;
    biases[c] = static_cast<float>(static_cast<double>(column.bias) +
                                   static_cast<double>(column.add) / column.scale);
    if (column.scale != 0) continue;
    // The sums count nothing: the bias alone is left, in units of the output.
    for (int64_t t = 0; t < recipe.taps; ++t) weights[t * padded + c] = 0;
    scales[c] = 1;
    biases[c] = column.add;
  }
  return OkStatus();
}

class QuantDepthwise final : public CpuKernel {
 public:
  QuantDepthwise(const Problem& problem, const QuantisedGroup& q, const DepthwiseRunner& runner,
                 std::optional<elementwise::Program> program)
      : CpuKernel(problem.threads),
        group_(problem.group),
        q_(q),
        runner_(runner),
        program_(std::move(program)),
        pads_(problem.shape(problem.group->outputs[0]), problem.states.outputs[0].layout,
              StorageBytes(problem.states.outputs[0].storage, 1)),
        input_(IndexOf(group_->inputs, q.x)),
        signed_x_(group_->value(q.x).dtype == DType::kI8),
        signed_y_(problem.states.outputs[0].storage == DType::kI8) {
    if (q_.x_zero != ir::kAbsent && !group_->value(q_.x_zero).is_constant())
      zero_input_ = IndexOf(group_->inputs, q_.x_zero);
  }

  std::vector<PackRequest> packs() const override {
    const ConvGeometry& g = runner_.geometry();
    PackRecipe recipe{g.oc, g.taps()};
    recipe.has_scale = q_.w_scale != ir::kAbsent;
    recipe.has_zero = q_.w_zero != ir::kAbsent;
    recipe.has_bias = q_.bias != ir::kAbsent;
    recipe.has_bias_scale = q_.bias_scale != ir::kAbsent;
    recipe.x_scale = q_.x_scale;
    recipe.y_scale = q_.requantise ? q_.requantise->scale : 1;
    PackRequest request;
    for (ir::ValueId id : {q_.w, q_.w_scale, q_.w_zero, q_.bias, q_.bias_scale}) {
      if (id != ir::kAbsent) request.constants.push_back(id);
    }
    request.recipe =
        fmt::format("quantised.depthwise.{}{}{}{}.x{}.y{}", recipe.has_scale, recipe.has_zero,
                    recipe.has_bias, recipe.has_bias_scale, recipe.x_scale, recipe.y_scale);
    request.bytes = (g.taps() + 2) * runner_.padded_channels() * 4;
    request.pack = [recipe](std::span<const Constant* const> constants, std::byte* out) {
      return Pack(recipe, constants, out);
    };
    std::vector<PackRequest> all{std::move(request)};
    if (program_) all.insert(all.end(), program_->packs().begin(), program_->packs().end());
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const int32_t zero = InputZero(args);
    std::memset(args.At(padding_), zero, PaddingBytes());
    const DepthwiseMemory memory = Describe(args, zero);
    elementwise::Binding binding;
    if (program_) binding = program_->Bind(args.inputs, args.packed.subspan(1), args.outputs);
    args.stream.ParallelFor(runner_.tasks(), [&](int64_t i, int lane) {
      const DepthwiseRunner::Task task = runner_.TaskAt(i);
      std::byte* scratch = args.At(scratch_, lane);
      if (!program_)
        return runner_.RunTask(memory, task, args.outputs[0].host<std::byte>(), scratch);
      for (int64_t row = task.row; row < task.end; ++row)
        RunRow(memory, binding, task, row, args.At(row_, lane), scratch);
    });
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  int64_t PaddingBytes() const { return runner_.padded_channels() + 64; }

  int32_t InputZero(const CpuLaunch& args) const {
    if (q_.x_zero == ir::kAbsent) return 0;
    if (zero_input_ < 0) return static_cast<int32_t>(group_->value(q_.x_zero).constant->GetInt(0));
    const Location& at = args.inputs[zero_input_];
    return signed_x_ ? *at.host<int8_t>() : *at.host<uint8_t>();
  }

  DepthwiseMemory Describe(const CpuLaunch& args, int32_t zero) const {
    const ConvGeometry& g = runner_.geometry();
    DepthwiseMemory memory;
    memory.x = args.inputs[input_].host<std::byte>();
    memory.zeros = args.At(padding_);
    DepthwiseCommon& common = memory.common;
    common.form = q_.requantise ? DepthwiseForm::kBytes : DepthwiseForm::kFloatsFromBytes;
    common.in_flip = signed_x_ ? 0x80 : 0;
    common.in_zero = zero + (signed_x_ ? 128 : 0);
    common.weights = args.packed[0].host<float>();
    common.bias = common.weights + g.taps() * runner_.padded_channels();
    common.scale = common.bias + runner_.padded_channels();
    common.padded_channels = runner_.padded_channels();
    common.low = -std::numeric_limits<float>::infinity();
    common.high = std::numeric_limits<float>::infinity();
    if (q_.requantise) {
      common.out_flip = signed_y_ ? 0x80 : 0;
      common.out_zero = q_.requantise->zero + (signed_y_ ? 128 : 0);
      common.low = static_cast<float>(q_.requantise->low - q_.requantise->zero);
      common.high = static_cast<float>(q_.requantise->high - q_.requantise->zero);
    }
    return memory;
  }

  /// A row of floats, which the program finishes.
  void RunRow(const DepthwiseMemory& memory, const elementwise::Binding& binding,
              const DepthwiseRunner::Task& task, int64_t row, float* floats,
              std::byte* scratch) const {
    const ConvGeometry& g = runner_.geometry();
    const PixelLayout& out = runner_.out();
    const int64_t image = runner_.ImageOf(row), pixel = runner_.PixelOf(row);
    runner_.RunRow(memory, task, row, reinterpret_cast<std::byte*>(floats), task.channels, scratch);
    elementwise::Tile tile{.rows = g.out[2], .col = task.channel % out.block};
    tile.row = (image * out.blocks() + task.channel / out.block) * out.pixels + pixel;
    tile.cols = task.channels;
    tile.running = floats;
    tile.running_stride = task.channels;
    program_->Run(binding, tile);
  }

  std::shared_ptr<const ir::Graph> group_;
  QuantisedGroup q_;
  DepthwiseRunner runner_;
  std::optional<elementwise::Program> program_;
  PadLanes pads_;
  size_t input_;
  bool signed_x_, signed_y_;
  int zero_input_ = -1;
  RunScratch<std::byte> padding_ = PerRun<std::byte>(PaddingBytes());
  /// An output row of floats, where a program finishes it.
  LaneScratch<float> row_ =
      PerLane<float>(program_ ? runner_.geometry().out[2] * runner_.geometry().oc : 0);
  LaneScratch<std::byte> scratch_ = PerLane<std::byte>(runner_.lane_bytes());
};

Result<DepthwiseProblem> ReadProblem(const Problem& problem, const Bytes& bytes) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, bytes.q.x));
  return DepthwiseProblem{bytes.g, pixels, 1, bytes.q.requantise ? 1 : 4};
}

ParamSpace Space(const Problem& problem, const Bytes& bytes, const Device&) {
  const DepthwiseProblem p = ReadProblem(problem, bytes).value();
  return {DepthwiseTunables(p, problem.threads), DepthwiseDefaults(p, problem.threads), {}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Bytes& bytes,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const DepthwiseProblem p, ReadProblem(problem, bytes));
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> program,
                   CompileQuantTail(*problem.group, bytes.q, problem.states));
  const DepthwiseRunner runner(p, ReadDepthwiseBlocking(params, p, problem.threads));
  return std::unique_ptr<PreparedKernel>(
      new QuantDepthwise(problem, bytes.q, runner, std::move(program)));
}

/// Several filters for a channel fill the columns of products of bytes, whose groups are merged.
int Taste(const Bytes& bytes, const Device&) {
  return bytes.g.oc == bytes.g.ic || GetQuantKernels(1).wide ? 25 : 14;
}

constexpr Family<Bytes> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};
constexpr Family<Bytes> kBlockedFamily{.read = Read,
                                       .states = BlockedStates,
                                       .prepare = Prepare,
                                       .params = Space,
                                       .taste = Always<14>};

}  // namespace

extern const KernelDesc kCpuQuantisedDepthwiseNhwc;
const KernelDesc kCpuQuantisedDepthwiseNhwc = {
    .name = "cpu.quantised.depthwise.nhwc", .version = 2, .match = MatchAs<kFamily>};

extern const KernelDesc kCpuQuantisedDepthwiseNchwc;
const KernelDesc kCpuQuantisedDepthwiseNchwc = {.name = "cpu.quantised.depthwise.nchwc",
                                                .match = MatchAs<kBlockedFamily>};

}  // namespace fettle::kernels
