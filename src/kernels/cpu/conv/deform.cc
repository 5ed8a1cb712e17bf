// cpu.conv.deform: DeformConv: samples of some output pixels as columns, and a product with the
// weights, in fp32, row-major.
#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/conv/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Bytes of the columns of one product: they stay in the second-level cache, or nearly.
constexpr int64_t kColumnBytes = 2 << 20;

struct Facts {
  ops::DeformConvAttributes conv;
  Shape x, w, y;
};

/// Four corners of the samples of some pixels: corner c of pixel p at [c * pixels + p]; those
/// outside of the image weigh 0.
struct Corners {
  int32_t* at;
  float* weight;
};

class DeformConv final : public PreparedKernel {
 public:
  DeformConv(const Problem& problem, const Facts& facts, const CpuInfo& info)
      : facts_(facts), info_(info), threads_(problem.threads) {
    for (size_t i = 0; i < std::size(operands_); ++i) {
      const ir::ValueId id = problem.node().input(i);
      if (id != ir::kAbsent)
        operands_[i] = VectorOperand(*problem.group, id, problem.shape(id), packs_);
    }
    taps_ = facts.conv.kernel[0] * facts.conv.kernel[1];
    pixels_ = facts.y[2] * facts.y[3];
    const int64_t fitting = kColumnBytes / 4 / std::max<int64_t>(1, facts.x[1] * taps_);
    chunk_ = std::clamp<int64_t>(fitting / 64 * 64, 64, std::max<int64_t>(64, pixels_));
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  int64_t workspace_bytes() const override {
    return ColumnBytes() + threads_ * CornerBytes() +
           GemmWorkspaceBytes(info_, OutChannels(), chunk_, facts_.w[1] * taps_, threads_);
  }

  Status Launch(const LaunchArgs& args) const override {
    auto& stream = static_cast<CpuStream&>(args.stream);
    float* y = args.outputs[0].host<float>();
    const float* bias = operands_[3].At(args);
    for (int64_t plane = 0; bias != nullptr && plane < facts_.y[0] * facts_.y[1]; ++plane)
      std::fill_n(y + plane * pixels_, pixels_, bias[plane % facts_.y[1]]);
    for (int64_t image = 0; image < facts_.y[0]; ++image) {
      for (int64_t first = 0; first < pixels_; first += chunk_)
        RunChunk(args, image, first, std::min(chunk_, pixels_ - first), stream, y);
    }
    return OkStatus();
  }

 private:
  int64_t OutChannels() const { return facts_.y[1] / facts_.conv.group; }
  int64_t ColumnBytes() const { return (facts_.x[1] * taps_ * chunk_ * 4 + 63) / 64 * 64; }
  int64_t CornerBytes() const { return 4 * chunk_ * 8; }

  void RunChunk(const LaunchArgs& args, int64_t image, int64_t first, int64_t count,
                CpuStream& stream, float* y) const {
    std::byte* workspace = args.workspace.host<std::byte>();
    auto* columns = reinterpret_cast<float*>(workspace);
    const int64_t fields = facts_.conv.offset_groups, each = facts_.x[1] / fields;
    const int64_t plane = facts_.x[2] * facts_.x[3];
    const float* x = operands_[0].At(args) + image * facts_.x[1] * plane;
    stream.ParallelFor(fields * taps_, [&](int64_t task, int lane) {
      std::byte* scratch = workspace + ColumnBytes() + lane * CornerBytes();
      const Corners corners{reinterpret_cast<int32_t*>(scratch),
                            reinterpret_cast<float*>(scratch) + 4 * chunk_};
      FindCorners(args, image, task, first, count, corners);
      const int64_t field = task / taps_, tap = task % taps_;
      for (int64_t c = field * each; c < (field + 1) * each; ++c)
        Sample(x + c * plane, corners, count, columns + (c * taps_ + tap) * chunk_);
    });
    const int64_t depth = facts_.w[1] * taps_, m = OutChannels();
    for (int64_t group = 0; group < facts_.conv.group; ++group) {
      RunGemm(info_,
              {.m = m,
               .n = count,
               .k = depth,
               .beta = operands_[3].At(args) == nullptr ? 0.0f : 1.0f,
               .a = operands_[1].At(args) + group * m * depth,
               .lda = depth,
               .b = columns + group * depth * chunk_,
               .ldb = chunk_,
               .c = y + (image * facts_.y[1] + group * m) * pixels_ + first,
               .ldc = pixels_},
              stream, workspace + ColumnBytes() + threads_ * CornerBytes(), threads_);
    }
  }

  /// Of tap `task` % taps of field `task` / taps, for pixels [first, first + count).
  void FindCorners(const LaunchArgs& args, int64_t image, int64_t task, int64_t first,
                   int64_t count, const Corners& corners) const {
    const ops::DeformConvAttributes& conv = facts_.conv;
    const int64_t tap = task % taps_, height = facts_.x[2], width = facts_.x[3];
    const int64_t map = image * conv.offset_groups * taps_ + task;
    const float* rows = operands_[2].At(args) + 2 * map * pixels_ + first;
    const float* columns = rows + pixels_;
    const float* mask = operands_[4].At(args);
    if (mask != nullptr) mask += map * pixels_ + first;
    const int64_t down = tap / conv.kernel[1] * conv.dilations[0] - conv.pad_begin[0];
    const int64_t right = tap % conv.kernel[1] * conv.dilations[1] - conv.pad_begin[1];
    for (int64_t p = 0; p < count; ++p) {
      const int64_t oh = (first + p) / facts_.y[3], ow = (first + p) % facts_.y[3];
      const float h = static_cast<float>(oh * conv.strides[0] + down) + rows[p];
      const float w = static_cast<float>(ow * conv.strides[1] + right) + columns[p];
      const float top = std::floor(h), left = std::floor(w), scale = mask ? mask[p] : 1.0f;
      // NaN lies nowhere.
      const bool near = top >= -1 && top < static_cast<float>(height) && left >= -1 &&
                        left < static_cast<float>(width);
      const int64_t row = near ? static_cast<int64_t>(top) : -2;
      const int64_t column = near ? static_cast<int64_t>(left) : -2;
      for (int64_t c = 0; c < 4; ++c) {
        const int64_t r = row + c / 2, l = column + c % 2;
        const bool inside = r >= 0 && r < height && l >= 0 && l < width;
        const float share =
            (c / 2 == 0 ? 1 - (h - top) : h - top) * (c % 2 == 0 ? 1 - (w - left) : w - left);
        corners.at[c * count + p] = inside ? static_cast<int32_t>(r * width + l) : 0;
        corners.weight[c * count + p] = inside ? share * scale : 0;
      }
    }
  }

  static void Sample(const float* x, const Corners& corners, int64_t count, float* to) {
    const int32_t* at = corners.at;
    const float* weight = corners.weight;
    for (int64_t p = 0; p < count; ++p) {
      to[p] = x[at[p]] * weight[p] + x[at[count + p]] * weight[count + p] +
              x[at[2 * count + p]] * weight[2 * count + p] +
              x[at[3 * count + p]] * weight[3 * count + p];
    }
  }

  Facts facts_;
  const CpuInfo& info_;
  int threads_;
  VectorOperand operands_[5];  // x, weights, offsets, bias, mask
  std::vector<PackRequest> packs_;
  int64_t taps_ = 1, pixels_ = 1, chunk_ = 1;
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
                                                const Params&, const Device& device) {
  return std::unique_ptr<PreparedKernel>(
      new DeformConv(problem, facts, static_cast<const CpuDevice&>(device).info()));
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
