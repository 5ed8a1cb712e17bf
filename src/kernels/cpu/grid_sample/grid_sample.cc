// cpu.grid_sample.bilinear: GridSample of images, bilinear or nearest, with zeros or the border
// around them, in fp32, channels-last or row-major.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/grid_sample/points.h"
#include "kernels/kernel.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

class GridSample final : public PreparedKernel {
 public:
  GridSample(const PointMap& map, const Shape& x, const Shape& y, bool channels_last)
      : map_(map),
        batch_(x[0]),
        channels_(x[1]),
        points_(y[2] * y[3]),
        channels_last_(channels_last) {}

  Status Launch(const LaunchArgs& args) const override {
    if (batch_ * channels_ * points_ == 0) return OkStatus();
    const float *x = args.inputs[0].host<float>(), *grid = args.inputs[1].host<float>();
    float* y = args.outputs[0].host<float>();
    const int64_t blocks = (points_ + kPointsPerBlock - 1) / kPointsPerBlock;
    const int64_t plane = map_.height * map_.width;
    static_cast<CpuStream&>(args.stream).ParallelFor(batch_ * blocks, [&](int64_t task, int) {
      const int64_t n = task / blocks, first = task % blocks * kPointsPerBlock;
      const int64_t count = std::min(kPointsPerBlock, points_ - first);
      PointTaps taps{};
      FindTaps(map_, grid + (n * points_ + first) * 2, count, taps);
      const float* image = x + n * channels_ * plane;
      float* out = y + n * channels_ * points_;
      if (channels_last_) {
        SamplePixels(taps, count, image, channels_, out + first * channels_);
        return;
      }
      for (int64_t c = 0; c < channels_; ++c)
        SamplePlane(taps, count, image + c * plane, out + c * points_ + first);
    });
    return OkStatus();
  }

 private:
  PointMap map_;
  int64_t batch_, channels_, points_;
  bool channels_last_;
};

/// x = (g + 1) / 2 * (size - 1), or ((g + 1) * size - 1) / 2.
void MapAxis(bool align_corners, int64_t extent, double& scale, double& shift) {
  const auto size = static_cast<double>(extent);
  scale = (align_corners ? size - 1 : size) / 2;
  shift = (size - 1) / 2;
}

Result<PointMap> Read(const ir::Graph& group) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "GridSample")
    return Unsupported("not GridSample");
  const ir::Node& node = group.nodes()[0];
  if (group.inputs.size() != 2 || group.inputs[0] != node.inputs[0] ||
      group.inputs[1] != node.inputs[1]) {
    return Unsupported("a constant picture or grid");
  }
  for (ir::ValueId id : group.inputs) {
    if (group.value(id).dtype != DType::kF32) return Unsupported("types other than f32");
  }
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (x.rank() != 4 || x.elements() == 0 || x.Count(2, 4) > INT32_MAX)
    return Unsupported("images of two axes only, below 2^31 pixels");
  ASSIGN_OR_RETURN(const ops::GridSampleAttributes grid, ops::ReadGridSample(node));
  if (grid.mode == ops::ResizeMode::kCubic) return Unsupported("cubic sampling");
  if (grid.padding == ops::GridSampleAttributes::Padding::kReflection)
    return Unsupported("reflected borders");
  PointMap map{.height = x[2], .width = x[3]};
  map.nearest = grid.mode == ops::ResizeMode::kNearest;
  map.border = grid.padding == ops::GridSampleAttributes::Padding::kBorder;
  MapAxis(grid.align_corners, x[3], map.scale_x, map.shift_x);
  MapAxis(grid.align_corners, x[2], map.scale_y, map.shift_y);
  return map;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(Read(group).status());
  const State nhwc{.layout = Layout::ChannelsLast(4)}, row;
  return std::vector<StateAssignment>{{{nhwc, row}, {nhwc}}, {{row, row}, {row}}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device&) {
  ASSIGN_OR_RETURN(const PointMap map, Read(*problem.group));
  const ir::Graph& group = *problem.group;
  return std::unique_ptr<PreparedKernel>(
      new GridSample(map, problem.shape(group.inputs[0]), problem.shape(group.outputs[0]),
                     !problem.states.outputs[0].layout.IsRowMajor()));
}

}  // namespace

extern const KernelDesc kCpuGridSampleBilinear;
const KernelDesc kCpuGridSampleBilinear = {.name = "cpu.grid_sample.bilinear",
                                           .preference = 10,
                                           .candidates = Candidates,
                                           .prepare = Prepare};

}  // namespace fettle::kernels
