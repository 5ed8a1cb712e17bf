// cpu.grid_sample.bilinear: GridSample of images, bilinear or nearest, with zeros or the border
// around them, in fp32, channels-last or row-major.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/grid_sample/points.h"
#include "kernels/family.h"
#include "kernels/kernel.h"

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

Result<PointMap> Read(const ir::Graph& group, const Device&) { return ReadPointMap(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph&, const PointMap&, const Device&) {
  const State nhwc{.layout = Layout::ChannelsLast(4)}, row;
  return std::vector<StateAssignment>{{{nhwc, row}, {nhwc}}, {{row, row}, {row}}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PointMap& map,
                                                const Params&, const Device&) {
  const ir::Graph& group = *problem.group;
  return std::unique_ptr<PreparedKernel>(
      new GridSample(map, problem.shape(group.inputs[0]), problem.shape(group.outputs[0]),
                     !problem.states.outputs[0].layout.IsRowMajor()));
}

constexpr Family<PointMap> kFamily{.read = Read, .states = States, .prepare = Prepare};

}  // namespace

extern const KernelDesc kCpuGridSampleBilinear;
const KernelDesc kCpuGridSampleBilinear = {
    .name = "cpu.grid_sample.bilinear", .preference = 10, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
