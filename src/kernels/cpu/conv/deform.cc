// compiled: small
// cpu.conv.deform: DeformConv: samples of some output pixels as rows, channels innermost, and their
// product with the weights, in fp32; its operands are row-major.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/deform_taps.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/move/copy_leaf.h"
#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "ops/conv/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Bytes of the sampled rows of a task: they stay in the second-level cache.
constexpr int64_t kSampleBytes = 256 << 10;
constexpr int64_t kMaxTiles = 64;

struct Facts {
  ops::DeformConvAttributes conv;
  Shape x, w, y;
};

class DeformConv final : public CpuKernel {
 public:
  DeformConv(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads), facts_(facts), kernels_(GetMicroKernels()) {
    for (size_t i = 0; i < std::size(operands_); ++i) {
      const ir::ValueId id = problem.node().input(i);
      const bool packed = i == 1 && problem.group->value(id).is_constant();
      if (id != ir::kAbsent && !packed)
        operands_[i] = VectorOperand(*problem.group, id, problem.shape(id), packs_);
    }
    taps_ = facts.conv.kernel[0] * facts.conv.kernel[1];
    pixels_ = facts.y[2] * facts.y[3];
    each_ = facts.x[1] / facts.conv.offset_groups;
    const int64_t groups = facts.conv.group;
    weights_ = {.groups = groups, .oc = facts.y[1] / groups, .ic = facts.w[1], .taps = taps_};
    const ir::ValueId w = problem.node().input(1);
    if (problem.group->value(w).is_constant()) AskForPanels(w);
    stride_ = facts.x[1] * taps_ + (ShareCacheSets(facts.x[1] * taps_) ? kPadding : 0);
    // Enough tasks for all threads, none of whose rows outgrow the cache.
    const int64_t fitting = std::min(kSampleBytes / 4 / stride_, CeilDiv(pixels_, 4 * lanes()));
    rows_ = std::clamp<int64_t>(CeilDiv(fitting, kernels_.mr), 1, kMaxTiles) * kernels_.mr;
    if (panels_ < 0) computed_ = PerRun<float>(PanelElements());
    bias_ = PerRun<float>(weights_.groups * PaddedGroup());
    turned_ = PerRun<float>(facts_.conv.offset_groups * ImageElements());
    samples_ = PerLane<float>(rows_ * stride_);
    product_ = PerLane<float>(rows_ * facts_.y[1]);
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Run(const CpuLaunch& args) const override {
    PackPanels(args);
    const int64_t tasks = CeilDiv(pixels_, rows_);
    for (int64_t image = 0; image < facts_.y[0]; ++image) {
      TurnImage(args, image);
      args.stream.ParallelFor(tasks, [&](int64_t task, int lane) {
        const int64_t first = task * rows_, count = std::min(rows_, pixels_ - first);
        Sample(args, image, first, count, args.At(samples_, lane));
        Multiply(args, image, first, count, lane);
      });
    }
    return OkStatus();
  }

 private:
  int64_t PaddedGroup() const { return weights_.panels(kernels_.nr) * kernels_.nr; }
  int64_t PanelElements() const { return weights_.groups * weights_.group_elements(kernels_.nr); }
  int64_t ImageElements() const {
    return (facts_.x[2] * facts_.x[3] + 1) * each_;  // of one field's channels
  }

  void AskForPanels(ir::ValueId w) {
    panels_ = static_cast<int>(packs_.size());
    packs_.push_back({{w},
                      fmt::format("deform.g{}.nr{}.f32", weights_.groups, kernels_.nr),
                      RoundUp(PanelElements() * 4, 64),
                      [shape = weights_, nr = kernels_.nr](
                          std::span<const Constant* const> constants, std::byte* out) {
                        PackWeights(*constants[0], shape, nr, 1, reinterpret_cast<float*>(out));
                        return OkStatus();
                      }});
  }
  const float* Panels(const CpuLaunch& args) const {
    return panels_ >= 0 ? args.packed[panels_].host<float>() : args.At(computed_);
  }

  /// Weights as panels, a tap's channels side by side as in the samples; bias as those want it.
  void PackPanels(const CpuLaunch& args) const {
    const int64_t panels = weights_.panels(kernels_.nr), size = weights_.depth() * kernels_.nr;
    float* out = args.At(computed_);
    const int64_t packed_here = panels_ >= 0 ? 0 : weights_.groups * panels;
    args.stream.ParallelFor(packed_here, [&](int64_t i, int) {
      PackWeightPanel(operands_[1].At(args), weights_, kernels_.nr, i / panels, i % panels,
                      out + i * size);
    });
    float* padded = args.At(bias_);
    std::fill_n(padded, weights_.groups * PaddedGroup(), 0.0f);
    const float* bias = operands_[3].At(args);
    for (int64_t g = 0; bias != nullptr && g < weights_.groups; ++g)
      std::copy_n(bias + g * weights_.oc, weights_.oc, padded + g * PaddedGroup());
  }

  /// The image with the channels of a field innermost, and a pixel of zeros.
  void TurnImage(const CpuLaunch& args, int64_t image) const {
    const int64_t plane = facts_.x[2] * facts_.x[3];
    const float* x = operands_[0].At(args) + image * facts_.x[1] * plane;
    float* turned = args.At(turned_);
    constexpr int64_t kPart = 1024;
    const int64_t parts = CeilDiv(plane, kPart);
    args.stream.ParallelFor(facts_.conv.offset_groups * parts, [&](int64_t task, int) {
      const int64_t field = task / parts, first = task % parts * kPart;
      const int64_t count = std::min(kPart, plane - first);
      float* to = turned + field * ImageElements();
      CopyTransposed(reinterpret_cast<const std::byte*>(x + field * each_ * plane + first),
                     reinterpret_cast<std::byte*>(to + first * each_), {count, 1, each_},
                     {each_, plane, 1}, count, each_, 4);
      if (first == 0) FillZeros(to + plane * each_, each_);
    });
  }

  /// Samples of pixels [first, first + count), a row for each: its taps, each with all channels.
  void Sample(const CpuLaunch& args, int64_t image, int64_t first, int64_t count,
              float* samples) const {
    const ops::DeformConvAttributes& conv = facts_.conv;
    const float* turned = args.At(turned_);
    for (int64_t done = 0; done < count; done += kDeformPoints) {
      const int64_t points = std::min(kDeformPoints, count - done);
      DeformBases bases;
      for (int64_t p = 0; p < points; ++p) {
        const int64_t pixel = first + done + p;
        bases.row[p] = static_cast<float>(pixel / facts_.y[3] * conv.strides[0]);
        bases.column[p] = static_cast<float>(pixel % facts_.y[3] * conv.strides[1]);
      }
      for (int64_t i = 0; i < conv.offset_groups * taps_; ++i) {
        const int64_t field = i / taps_, tap = i % taps_;
        DeformCorners corners;
        FindDeformCorners(TapAt(args, image, i, first + done), bases, points, corners);
        SampleDeform(corners, points, turned + field * ImageElements(), each_,
                     samples + done * stride_ + tap * facts_.x[1] + field * each_, stride_);
      }
    }
  }

  /// Tap `i` % taps of field `i` / taps, with its offsets from pixel `first` on.
  DeformTap TapAt(const CpuLaunch& args, int64_t image, int64_t i, int64_t first) const {
    const ops::DeformConvAttributes& conv = facts_.conv;
    const int64_t tap = i % taps_, map = image * conv.offset_groups * taps_ + i;
    const float* rows = operands_[2].At(args) + 2 * map * pixels_ + first;
    const float* mask = operands_[4].At(args);
    return {facts_.x[2],
            facts_.x[3],
            static_cast<float>(tap / conv.kernel[1] * conv.dilations[0] - conv.pad_begin[0]),
            static_cast<float>(tap % conv.kernel[1] * conv.dilations[1] - conv.pad_begin[1]),
            rows,
            rows + pixels_,
            mask == nullptr ? nullptr : mask + map * pixels_ + first};
  }

  /// Rows of samples times the weights, then with the pixels of a channel side by side.
  void Multiply(const CpuLaunch& args, int64_t image, int64_t first, int64_t count,
                int lane) const {
    const int64_t channels = facts_.y[1];
    const float* samples = args.At(samples_, lane);
    float* product = args.At(product_, lane);
    const float* starts[kMaxTiles];
    TileSpan tiles[kMaxTiles];
    const auto rows = static_cast<int64_t>(kernels_.mr), used = CeilDiv(count, rows);
    BlockArgs block;
    // One group's rows have no gaps between taps.
    block.taps = weights_.groups == 1 ? 1 : taps_;
    block.depth = weights_.groups == 1 ? weights_.depth() : weights_.ic;
    block.columns = weights_.oc;
    block.c_stride = channels;
    for (int64_t g = 0; g < weights_.groups; ++g) {
      for (int64_t i = 0; i < used; ++i) {
        starts[i] = samples + i * rows * stride_ + g * weights_.ic;
        tiles[i] = {.a = starts + i,
                    .rows = std::min(rows, count - i * rows),
                    .c = product + i * rows * channels + g * weights_.oc,
                    .a_step = stride_,
                    .tap_step = block.taps == 1 ? 0 : facts_.x[1],
                    .continues = block.taps == 1 && i + 1 < used};
      }
      block.tiles = std::span<const TileSpan>(tiles, static_cast<size_t>(used));
      block.b = Panels(args) + g * weights_.group_elements(kernels_.nr);
      block.bias = args.At(bias_) + g * PaddedGroup();
      RunBlock(kernels_, block);
    }
    float* y = args.outputs[0].host<float>() + image * channels * pixels_ + first;
    CopyTransposed(reinterpret_cast<const std::byte*>(product), reinterpret_cast<std::byte*>(y),
                   {channels, 1, pixels_}, {count, channels, 1}, channels, count, 4);
  }

  Facts facts_;
  const MicroKernels& kernels_;
  VectorOperand operands_[5];  // x, weights unless they are constant, offsets, bias, mask
  int panels_ = -1;            // of the packs: constant weights
  std::vector<PackRequest> packs_;
  WeightShape weights_;
  int64_t taps_ = 1, pixels_ = 1, each_ = 1;
  int64_t stride_ = 1, rows_ = 1;      // of the samples of a task
  RunScratch<float> computed_, bias_;  // as the product reads them
  RunScratch<float> turned_;
  LaneScratch<float> samples_, product_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "DeformConv"_op)
    return Unsupported("computes DeformConv only");
  const ir::Node& node = group.nodes()[0];
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kAbsent) continue;
    const DType dtype = group.value(id).dtype;
    RETURN_IF_ERROR(CheckFloat(dtype));
  }
  const Shape &x = *group.value(node.inputs[0]).shape, &w = *group.value(node.inputs[1]).shape;
  if (x.elements() == 0) return Unsupported("an input without elements");
  if (x[2] * x[3] >= int64_t{1} << 31) return Unsupported("planes of 2^31 pixels");
  ASSIGN_OR_RETURN(ops::DeformConvAttributes conv, ops::ReadDeformConv(node, x, w));
  return Facts{std::move(conv), x, w, *group.value(node.outputs[0]).shape};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  return std::unique_ptr<PreparedKernel>(new DeformConv(problem, facts));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuConvDeform;
const KernelDesc kCpuConvDeform = {.name = "cpu.conv.deform", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
