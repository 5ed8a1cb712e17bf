// compiled: small
// cpu.conv.pointwise.row: 1x1 convolutions, of any stride, of row-major tensors, whose channels are
// planes: the weights are the rows of a product and the pixels its columns, so that neither side is
// converted. A task packs the planes' pixels as panels and multiplies all rows by them. The bias is
// one more input, of ones.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/pixel_product.h"
#include "kernels/cpu/conv/plane_sums.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

struct Conv {
  ConvOperands operands;
  ConvGeometry g;

  int64_t inputs() const { return g.ic / g.groups; }
  int64_t outputs() const { return g.oc / g.groups; }
  /// Of the product.
  int64_t depth() const { return inputs() + (operands.b != ir::kAbsent ? 1 : 0); }
  /// Floats from row to row of the weights.
  int64_t pitch() const { return depth() + (ShareCacheSets(depth()) ? kPadding : 0); }
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.taps() != 1) return Unsupported("not a 1x1 kernel");
  for (size_t axis = 0; axis < 3; ++axis) {
    if (g.pad[axis] != 0 || (g.out[axis] - 1) * g.stride[axis] >= g.in[axis])
      return Unsupported("padding");
  }
  if (g.oc == 0 || g.ic == 0) return Unsupported("no channels");
  return Conv{operands, g};
}

/// Row-major, also as the caller bound it.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Conv& conv,
                                            const Device&) {
  return RowMajorConvStates(group, conv.operands);
}

/// Each row the weights of an output, then its bias.
void Pack(const Conv& conv, const Constant& w, const Constant* b, float* out) {
  for (int64_t o = 0; o < conv.g.oc; ++o, out += conv.pitch()) {
    ReadFloats(w, o * conv.inputs(), conv.inputs(), out);
    if (b != nullptr) ReadFloats(*b, o, 1, out + conv.inputs());
    std::fill(out + conv.depth(), out + conv.pitch(), 0.0f);
  }
}

PixelProduct ProductOf(const Conv& conv) {
  return {.planes = std::max<int64_t>(1, conv.g.batch * conv.g.groups),
          .pixels = conv.g.image_pixels(),
          .depth = conv.depth()};
}

ParamSpace Space(const Problem& problem, const Conv& conv, const Device&) {
  return ProductOf(conv).Space(problem.threads);
}

class PointwiseRow final : public CpuKernel, public MovesToExtents<PointwiseRow> {
 public:
  PointwiseRow(const Problem& problem, const Conv& conv, const ConvPixels& pixels,
               Epilogue epilogue, int64_t panels)
      : CpuKernel(problem.threads),
        conv_(conv),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(pixels.out),
        epilogue_(std::move(epilogue)) {
    SetSizes(panels);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{
        RequestWeights(conv_.operands, "conv.rows.f32", conv_.g.oc * conv_.pitch(),
                       [conv = conv_](const Constant& w, const Constant* b, float* out) {
                         Pack(conv, w, b, out);
                       })};
    epilogue_.AppendPacks(all);
    return all;
  }

  bool MoveTo(const Problem& problem, const Device&) override {
    const std::optional<ConvAt> at = AtExtents(conv_.g, {out_, out_}, *problem.group);
    if (!at || !epilogue_.TakeElements(problem.shape(problem.group->outputs[0]))) return false;
    conv_.g = at->g;
    out_ = at->pixels.out;
    ForgetScratch(problem.threads);
    SetSizes(ProductOf(conv_).UsualPanels(problem.threads));
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const ConvGeometry& g = conv_.g;
    const EvenParts panels(CeilDiv(g.image_pixels(), kernels_.nr), panels_);
    const EvenParts tiles(tiles_.count(), tiles_of_task_);
    const int64_t parts = panels.count() * tiles.count();
    args.stream.ParallelFor(g.batch * g.groups * parts, [&](int64_t i, int lane) {
      const int64_t part = i % parts, column = part / tiles.count(), row = part % tiles.count();
      Task task{.image = i / parts / g.groups, .group = i / parts % g.groups};
      task.pixel = panels.Begin(column) * kernels_.nr;
      task.end = std::min(panels.Begin(column + 1) * kernels_.nr, g.image_pixels());
      PackPixels(args, task, args.At(packed_, lane));
      for (int64_t tile = tiles.Begin(row); tile < tiles.Begin(row + 1); tile += kMostTiles)
        RunTiles(args, binding, task, tile, std::min(tile + kMostTiles, tiles.Begin(row + 1)),
                 lane);
    });
    return OkStatus();
  }

 private:
  /// Tiles whose rows stay in the second-level cache, and floats of a slice of a panel
  /// (BlockArgs::depth_block).
  static constexpr int64_t kMostTiles = 16, kSliceFloats = 1 << 15;

  /// Pixels [pixel, end) of a group of an image.
  struct Task {
    int64_t image, group, pixel = 0, end = 0;
  };

  void SetSizes(int64_t panels) {
    panels_ = panels;
    tiles_ = RowTiles(kernels_.mr, conv_.outputs());
    tiles_of_task_ = CeilDiv(tiles_.count(), ProductOf(conv_).SharesOfRows(panels, lanes()));
    packed_ = PerLane<float>(panels_ * kernels_.nr * conv_.depth());
    pointers_ = PerLane<const float*>(kMostTiles * kernels_.mr);
  }

  /// [panel][input][nr], the last input of ones for the bias.
  void PackPixels(const CpuLaunch& args, const Task& task, float* out) const {
    const ConvGeometry& g = conv_.g;
    const int64_t pixels = g.in[0] * g.in[1] * g.in[2], inputs = conv_.inputs();
    const int64_t channel = task.image * g.ic + task.group * inputs;
    const float* x = args.inputs[input_].host<float>() + channel * pixels;
    const bool has_ones = conv_.depth() > inputs;
    if (g.IsPointwise())
      return kernels::PackPixels(x + task.pixel, pixels, inputs, task.end - task.pixel, has_ones,
                                 out);
    for (int64_t pixel = task.pixel; pixel < task.end; pixel += kernels_.nr) {
      PackApart(x, pixel, std::min<int64_t>(kernels_.nr, task.end - pixel), out);
      out += inputs * kernels_.nr;
      if (!has_ones) continue;
      std::fill_n(out, kernels_.nr, 1.0f);
      out += kernels_.nr;
    }
  }

  /// A panel of pixels that a stride leaves: parts of lines of the input.
  void PackApart(const float* x, int64_t pixel, int64_t columns, float* out) const {
    const ConvGeometry& g = conv_.g;
    if (columns < kernels_.nr) FillZeros(out, conv_.inputs() * kernels_.nr);
    for (int64_t column = 0; column < columns;) {
      const int64_t row = (pixel + column) / g.out[2], at = (pixel + column) % g.out[2];
      const int64_t count = std::min(columns - column, g.out[2] - at);
      const int64_t plane = row / g.out[1] * g.stride[0], h = row % g.out[1] * g.stride[1];
      copies_.copy({.line = x + (plane * g.in[1] + h) * g.in[2],
                    .num_lines = conv_.inputs(),
                    .line_step = g.in[0] * g.in[1] * g.in[2],
                    .width = g.in[2],
                    .first = at * g.stride[2],
                    .stride = g.stride[2],
                    .count = count,
                    .out = out + column,
                    .out_step = kernels_.nr});
      column += count;
    }
  }

  void RunTiles(const CpuLaunch& args, const elementwise::Binding& binding, const Task& task,
                int64_t begin, int64_t end, int lane) const {
    float* y = args.outputs[0].host<float>();
    const int64_t row = task.group * conv_.outputs() + tiles_.Begin(begin);
    const EvenRows weights{args.packed[0].host<float>() + row * conv_.pitch(), conv_.pitch()};
    TileSpan tiles[kMostTiles];
    BlockArgs block;
    block.tiles =
        CutTiles(tiles_, begin, end, weights, y + out_.Offset(task.image, task.pixel, row),
                 out_.plane, args.At(pointers_, lane), tiles);
    block.depth = conv_.depth();
    block.b = args.At(packed_, lane);
    block.far_b = false;
    block.columns = task.end - task.pixel;
    block.c_stride = out_.plane;
    block.depth_block = kSliceFloats / kernels_.nr;
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    RunBlock(kernels_, block);
    epilogue_.RunPlanes(binding,
                        {.first = out_.Offset(task.image, task.pixel, row),
                         .count = block.columns,
                         .stride = out_.plane,
                         .planes = tiles_.Begin(end) - tiles_.Begin(begin)},
                        y);
  }

  Conv conv_;
  size_t input_;
  PixelLayout out_;
  const MicroKernels& kernels_ = GetMicroKernels();
  const PlaneKernels& copies_ = GetPlaneKernels();
  Epilogue epilogue_;
  RowTiles tiles_;
  int64_t panels_ = 1, tiles_of_task_ = 1;  // of a task
  LaneScratch<float> packed_;
  LaneScratch<const float*> pointers_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileElements(*problem.group, problem.states));
  const int64_t panels = ProductOf(conv).PanelsOf(params, problem.threads);
  return std::unique_ptr<PreparedKernel>(
      new PointwiseRow(problem, conv, pixels, std::move(epilogue), panels));
}

/// As good as channels-last, where the pixels that vectors have too many of take less than the
/// conversions: an element of these about as long as so many vectors of multiply-adds.
int Taste(const Conv& conv, const Device&) {
  constexpr int64_t kConverted = 4;
  const int64_t pixels = conv.g.image_pixels(), vector = GetMicroKernels().nr / 2;
  const int64_t padding = RoundUp(pixels, std::max<int64_t>(vector, 1)) - pixels;
  const bool is_filled = padding * conv.inputs() * conv.outputs() <=
                         kConverted * pixels * (conv.inputs() + conv.outputs());
  return vector > 1 && is_filled && 5 * padding <= pixels ? kBesideBest : 6;
}

constexpr Family<Conv> kFamily{.read = Read,
                               .states = States,
                               .prepare = Prepare,
                               .params = Space,
                               .taste = Taste,
                               .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvPointwiseRow;
const KernelDesc kCpuConvPointwiseRow = {.name = "cpu.conv.pointwise.row",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
