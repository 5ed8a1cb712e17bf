// compiled: small
// cpu.grid_sample.taps: GridSample of one to three axes, nearest, linear or cubic, with any
// padding, in fp32 and any layout that keeps the pixels in order; either operand may be a constant.
#include <algorithm>

#include "kernels/cpu/grid_sample/tap_block.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kManyChannels = 8;

struct Facts {
  SampleMap map;
  int64_t batch, points;  // of each picture of the batch
  Shape y;
};

/// Images as a layout holds them; those of one picture of the batch are runs of `run` neighbours.
struct Images : ImageExtents {
  int64_t run = 1;

  /// Image j of picture n of `batch`.
  int64_t At(int64_t n, int64_t j, int64_t batch) const {
    return (j / run * batch + n) * run + j % run;
  }
};

Result<Images> SplitBatch(const Shape& shape, const Layout& layout) {
  Images images;
  ASSIGN_OR_RETURN(static_cast<ImageExtents&>(images), SplitImages(shape, layout));
  const PhysicalDims dims = ToPhysical(shape, layout);
  bool is_behind = false;
  for (size_t i = 0; i < dims.extent.size() && dims.axis[i] < 2; ++i) {
    if (is_behind) images.run *= dims.extent[i];
    is_behind = is_behind || dims.axis[i] == 0;
  }
  if (!is_behind && shape[0] != 1)
    return Unsupported("the pictures of the batch lie in each pixel");
  return images;
}

class GridSampleTaps final : public NodeKernel {
 public:
  GridSampleTaps(const Problem& problem, const Facts& facts, const Images& images)
      : NodeKernel(problem),
        map_(facts.map),
        batch_(facts.batch),
        points_(facts.points),
        images_(images),
        pads_(facts.y, problem.states.outputs[0].layout, sizeof(float)) {}

  std::vector<PackRequest> packs() const override {
    return operands().packs(group(), PackedAsFloats);
  }

  Status Run(const CpuLaunch& args) const override {
    const auto* x = reinterpret_cast<const float*>(operands().input(args, 0));
    const auto* grid = reinterpret_cast<const float*>(operands().input(args, 1));
    auto* y = reinterpret_cast<float*>(operands().output(args, 0));
    const int taps = map_.taps();
    const int64_t per_block = BlockPoints(taps);
    const int64_t blocks = (points_ + per_block - 1) / per_block;
    const int64_t of_picture = images_.outer / batch_;
    args.stream.ParallelFor(batch_ * blocks, [&](int64_t task, int) {
      const int64_t n = task / blocks, first = task % blocks * per_block;
      const int64_t count = std::min(per_block, points_ - first);
      TapBlock block;
      FindBlockTaps(map_, grid + (n * points_ + first) * map_.axes, count, block);
      for (int64_t j = 0; j < of_picture; ++j) {
        const int64_t image = images_.At(n, j, batch_);
        SampleBlock(block, taps, count, x + image * map_.pixels() * images_.inner, images_.inner,
                    y + (image * points_ + first) * images_.inner);
      }
    });
    pads_.Zero(args.stream, reinterpret_cast<std::byte*>(y));
    return OkStatus();
  }

 private:
  SampleMap map_;
  int64_t batch_, points_;
  Images images_;
  PadLanes pads_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "GridSample"_op)
    return Unsupported("computes GridSample only");
  const ir::Node& node = group.nodes()[0];
  for (ir::ValueId id : node.inputs) RETURN_IF_ERROR(CheckFloat(group.value(id).dtype));
  const Shape &x = *group.value(node.inputs[0]).shape, &y = *group.value(node.outputs[0]).shape;
  Facts facts{.map = {.axes = x.rank() - 2}, .batch = x[0], .points = 0, .y = y};
  if (facts.map.axes > kMostSampledAxes) return Unsupported("images of four axes and more");
  facts.points = y.Count(2, y.rank());
  if (x.elements() == 0 || x.Count(2, x.rank()) > INT32_MAX)
    return Unsupported("empty images, and those of 2^31 pixels and more");
  ASSIGN_OR_RETURN(facts.map.how, ops::ReadGridSample(node));
  for (int i = 0; i < facts.map.axes; ++i) {
    // (g + 1) / 2 * (size - 1), or ((g + 1) * size - 1) / 2.
    const auto size = static_cast<double>(x[i + 2]);
    facts.map.axis[i] = {x[i + 2], (facts.map.how.align_corners ? size - 1 : size) / 2,
                         (size - 1) / 2};
  }
  return facts;
}

/// The picture and the output lie alike; the grid, and a constant picture, are row-major. Few
/// channels are faster as planes.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const ir::Node& node = group.nodes()[0];
  const auto picture = std::find(group.inputs.begin(), group.inputs.end(), node.inputs[0]);
  std::vector<StateAssignment> states = {WidenedStates(group)};
  if (picture == group.inputs.end() || node.inputs[0] == node.inputs[1]) return states;
  std::vector<Layout> layouts = BlockedLayouts(facts.y);
  layouts.insert(layouts.begin(), Layout::ChannelsLast(facts.y.rank()));
  for (const Layout& layout : layouts) {
    StateAssignment next = states[0];
    next.inputs[picture - group.inputs.begin()].layout = layout;
    next.outputs[0].layout = layout;
    if (!(next == states[0]) && SplitBatch(facts.y, layout).ok()) states.push_back(std::move(next));
  }
  if (facts.y[1] >= kManyChannels) std::rotate(states.begin(), states.begin() + 1, states.end());
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(const Images images, SplitBatch(facts.y, problem.states.outputs[0].layout));
  return std::unique_ptr<PreparedKernel>(new GridSampleTaps(problem, facts, images));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuGridSampleTaps;
const KernelDesc kCpuGridSampleTaps = {.name = "cpu.grid_sample.taps", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
