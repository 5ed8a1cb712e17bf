// compiled: small
// cpu.conv.dot.nhwc: convolutions with up to four output channels (last layers of image networks)
// as dot products along the input channels.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/conv_dot/tile.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Shorter runs leave many lanes empty.
constexpr int64_t kWellFilled = 8;
constexpr int64_t kMaxTaps = 256;
/// Output pixels per task.
constexpr int64_t kTaskRows = 256;

struct DotConv {
  ConvOperands operands;
  ConvGeometry g;
};

Result<DotConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups != 1) return Unsupported("groups");
  if (g.oc > kMaxDotOutputs) return Unsupported("more than {} output channels", kMaxDotOutputs);
  if (g.ic == 0) return Unsupported("no input channels");
  if (PlanTaps(AsLines(g)).taps > kMaxTaps) return Unsupported("more than {} taps", kMaxTaps);
  return DotConv{operands, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const DotConv& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// [tap][output][padded depth], then one bias per output.
void Pack(const ConvGeometry& g, const TapPlan& plan, const Constant& w, const Constant* b,
          float* out) {
  const int64_t padded = RoundUp(plan.depth, kDotPad), taps = g.taps();
  std::fill_n(out, plan.taps * g.oc * padded, 0.F);
  std::vector<float> filter(g.ic * taps);
  for (int64_t o = 0; o < g.oc; ++o) {
    ReadFloats(w, o * g.ic * taps, g.ic * taps, filter.data());
    for (int64_t i = 0; i < g.ic; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t tap = plan.rows ? t / g.kernel[2] : t;
        const int64_t at = plan.rows ? t % g.kernel[2] * g.ic + i : i;
        out[(tap * g.oc + o) * padded + at] = filter[i * taps + t];
      }
    }
  }
  PackBias(b, 0, g.oc, g.oc, 1, out + plan.taps * g.oc * padded);
}

class ConvDot final : public CpuKernel, public MovesToExtents<ConvDot> {
 public:
  ConvDot(const Problem& problem, const ConvOperands& operands, const ConvGeometry& geometry,
          Epilogue epilogue)
      : CpuKernel(problem.threads),
        operands_(operands),
        input_(IndexOf(problem.group->inputs, operands.x)),
        read_(geometry),
        g_(AsLines(geometry)),
        plan_(PlanTaps(g_)),
        kernels_(GetDotKernels(static_cast<int>(geometry.oc))),
        epilogue_(std::move(epilogue)) {
    SetScratch();
  }

  bool takes_ones() const override { return epilogue_.has_numbers_alone(); }
  bool MoveTo(const Problem& problem, const Device&) override {
    const PixelLayout in = ChannelsLastPixels(read_.ic, read_.in[0] * read_.in[1] * read_.in[2]);
    const PixelLayout out = ChannelsLastPixels(read_.oc, read_.image_pixels());
    const auto at = AtExtents(read_, {in, out}, epilogue_, *problem.group);
    if (!at) return false;
    const ConvGeometry g = AsLines(at->g);
    const TapPlan plan = PlanTaps(g);
    // The packed weights stay.
    if (plan.rows != plan_.rows || plan.taps != plan_.taps || plan.depth != plan_.depth)
      return false;
    read_ = at->g;
    g_ = g;
    plan_ = plan;
    ForgetScratch(problem.threads);
    SetScratch();
    return true;
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestWeights(
        operands_, fmt::format("conv.dot.rows{}.f32", plan_.rows), BiasOffset() + g_.oc,
        [g = g_, plan = plan_](const Constant& w, const Constant* b, float* out) {
          Pack(g, plan, w, b, out);
        })};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    args.stream.ParallelFor(CeilDiv(g_.pixels(), kTaskRows), [&](int64_t task, int lane) {
      const int64_t begin = task * kTaskRows;
      const int64_t rows = std::min(kTaskRows, g_.pixels() - begin);
      RunTask(args, {begin, rows}, lane);
      elementwise::Tile tile{.row = begin, .rows = rows, .cols = g_.oc};
      tile.running = args.outputs[0].host<float>() + begin * g_.oc;
      tile.running_stride = g_.oc;
      epilogue_.Run(binding, tile);
    });
    return OkStatus();
  }

 private:
  int64_t BiasOffset() const { return plan_.taps * g_.oc * RoundUp(plan_.depth, kDotPad); }

  void RunTask(const CpuLaunch& args, PixelRange range, int lane) const {
    const float** pointers = args.At(pointers_, lane);
    FillTapPointers<float>(g_, plan_, args.inputs[input_].host<float>(), args.At(zeros_), 0, range,
                           kernels_.rows, args.At(copies_, lane), pointers);
    DotTileArgs tile;
    tile.taps = plan_.taps;
    tile.depth = plan_.depth;
    tile.weights = args.packed[0].host<float>();
    tile.bias = tile.weights + BiasOffset();
    tile.low = epilogue_.clamp().low;
    tile.high = epilogue_.clamp().high;
    float* c = args.outputs[0].host<float>() + range.begin * g_.oc;
    const int64_t whole = range.rows / kernels_.rows * kernels_.rows;
    for (int64_t row = 0; row < whole; row += kernels_.rows) {
      tile.a = pointers + row * plan_.taps;
      tile.c = c + row * g_.oc;
      kernels_.whole(tile);
    }
    RunRest(tile, pointers + whole * plan_.taps, range.rows - whole, c + whole * g_.oc);
  }

  /// The last rows, one by one: their pointers lie [tap][row].
  void RunRest(DotTileArgs tile, const float* const* pointers, int64_t rows, float* c) const {
    const float* taps[kMaxTaps];
    tile.a = taps;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t t = 0; t < plan_.taps; ++t) taps[t] = pointers[t * rows + r];
      tile.c = c + r * g_.oc;
      kernels_.single(tile);
    }
  }

  void SetScratch() {
    zeros_ = Zeroed<float>(plan_.depth);
    pointers_ = PerLane<const float*>(kTaskRows * plan_.taps);
    copies_ = PerLane<float>(TapCopyElements(g_, plan_, kTaskRows));
  }

  ConvOperands operands_;
  size_t input_;
  ConvGeometry read_, g_;  // the second as lines
  TapPlan plan_;
  DotKernels kernels_;
  Epilogue epilogue_;
  RunScratch<float> zeros_;
  LaneScratch<const float*> pointers_;
  LaneScratch<float> copies_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const DotConv& conv,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(
      new ConvDot(problem, conv.operands, conv.g, std::move(epilogue)));
}

int Taste(const DotConv& conv, const Device&) {
  return PlanTaps(AsLines(conv.g)).depth < kWellFilled ? 1 : 12;
}

constexpr Family<DotConv> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Taste, .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvDotNhwc;
const KernelDesc kCpuConvDotNhwc = {.name = "cpu.conv.dot.nhwc", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
