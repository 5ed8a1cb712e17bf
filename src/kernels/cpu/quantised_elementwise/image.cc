// cpu.quantised.image: QuantizeLinear of a row-major image of up to four channels, as callers hand
// one over, to channels-last bytes: what a quantised network begins with, in one pass.
#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/quantised_elementwise/byte_operand.h"
#include "kernels/cpu/quantised_elementwise/image_row.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  int64_t images = 0, channels = 0, pixels = 0;
  ByteOperand type;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "QuantizeLinear"_op)
    return Unsupported("computes QuantizeLinear only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.inputs[0]);
  if (group.inputs.size() != 1 || group.inputs[0] != node.inputs[0] || x.dtype != DType::kF32)
    return Unsupported("not one computed operand of fp32");
  const Shape& shape = *x.shape;
  if (shape.rank() < 3 || shape[1] < 2 || shape[1] > kMostImageChannels)
    return Unsupported("not an image of 2 to {} channels", kMostImageChannels);
  Facts facts{.images = shape[0], .channels = shape[1], .pixels = shape.Count(2, shape.rank())};
  ASSIGN_OR_RETURN(facts.type, ReadByteOperand(group, node, group.value(node.output(0)).dtype));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  StateAssignment states = RowMajorStates(group);
  states.outputs[0].layout = Layout::ChannelsLast(group.value(group.outputs[0]).shape->rank());
  // Computed tensors of few channels are no images: scores of attention have a channel per head.
  states.inputs[0].external = true;
  return std::vector<StateAssignment>{std::move(states)};
}

class Image final : public CpuKernel {
 public:
  Image(const Problem&, const Facts& facts) : facts_(facts) {}

  Status Run(const CpuLaunch& args) const override {
    constexpr int64_t kTaskPixels = 8192;
    const auto* x = args.inputs[0].host<float>();
    auto* y = args.outputs[0].host<uint8_t>();
    const int64_t pieces = (facts_.pixels + kTaskPixels - 1) / kTaskPixels;
    args.stream.ParallelFor(facts_.images * pieces, [&](int64_t i, int) {
      const int64_t image = i / pieces * facts_.pixels * facts_.channels;
      const int64_t pixel = i % pieces * kTaskPixels;
      ImageRowArgs row{.type = facts_.type};
      for (int64_t c = 0; c < facts_.channels; ++c)
        row.x[c] = x + image + c * facts_.pixels + pixel;
      row.y = y + image + pixel * facts_.channels;
      row.n = std::min(kTaskPixels, facts_.pixels - pixel);
      RunImageRow(row, facts_.channels);
    });
    return OkStatus();
  }

 private:
  Facts facts_;
};

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Make<Image>, .taste = Always<kBesideBest>};

}  // namespace

extern const KernelDesc kCpuQuantisedImage;
const KernelDesc kCpuQuantisedImage = {
    .name = "cpu.quantised.image", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
