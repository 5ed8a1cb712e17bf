// compiled: small
// cpu.quantised.channels: BatchNormalization with constant statistics between DequantizeLinear and
// QuantizeLinear, in any layout: a factor and an addend for each channel, bytes in, bytes out.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/layout/broadcast.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised_elementwise/byte_operand.h"
#include "kernels/cpu/quantised_elementwise/channel_row.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  ByteOperand x;
  ByteTail y;
  std::vector<ir::ValueId> statistics;  // scale, bias, mean, variance
  double epsilon = 0;
  int64_t channels = 0;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  Facts facts;
  ASSIGN_OR_RETURN(facts.y, ReadByteTail(group));
  const auto& nodes = group.nodes();
  if (nodes.size() != facts.y.nodes + 2 || group.inputs.size() != 1)
    return Unsupported("computes operators of one operand between bytes only");
  const ir::Node &from = nodes[0], &norm = nodes[1];
  if (from.op != "DequantizeLinear"_op || norm.op != "BatchNormalization"_op ||
      norm.inputs[0] != from.output(0) || norm.output(0) != facts.y.of || norm.outputs.size() != 1)
    return Unsupported("not a BatchNormalization between bytes");
  ASSIGN_OR_RETURN(facts.x, ReadByteOperand(group, from, group.value(from.inputs[0]).dtype));
  const Shape& x = *group.value(from.inputs[0]).shape;
  if (x.rank() < 2) return Unsupported("a tensor without channels");
  facts.channels = x[1];
  facts.epsilon = norm.attributes.Float("epsilon", 1e-5);
  facts.statistics.assign(norm.inputs.begin() + 1, norm.inputs.end());
  for (ir::ValueId id : facts.statistics) {
    if (!group.value(id).is_constant()) return Unsupported("statistics that are computed");
  }
  return facts;
}

/// Rows of the output; fails where a channel's constants lie otherwise than repeated or in order.
Result<elementwise::BroadcastLoop> MakeLoop(const Shape& full, const Layout& layout) {
  Shape channels(Dims(full.rank(), 1));
  channels[1] = full[1];
  ASSIGN_OR_RETURN(std::vector<int64_t> x, BroadcastStrides(full, layout, full, layout));
  ASSIGN_OR_RETURN(std::vector<int64_t> constants,
                   BroadcastStrides(full, layout, channels, Layout::RowMajor()));
  elementwise::BroadcastLoop loop(ToPhysical(full, layout).extent,
                                  {std::move(x), std::move(constants)});
  if (loop.stride(1) > 1) return Unsupported("channels lie apart");
  return loop;
}

/// All factors, then all addends. The statistics are dequantised and quantised in one step.
PackRequest RequestConstants(const Facts& facts) {
  const ByteOperand from = facts.x, to = facts.y.type;
  const double epsilon = facts.epsilon;
  const int64_t channels = facts.channels;
  return {facts.statistics,
          fmt::format("quantised.channels.{}.{}.{}.{}", from.scale, from.zero, to.scale, epsilon),
          2 * channels * static_cast<int64_t>(sizeof(float)),
          [=](std::span<const Constant* const> c, std::byte* out) {
            auto* factor = reinterpret_cast<float*>(out);
            for (int64_t i = 0; i < channels; ++i) {
              const double scale = c[0]->GetDouble(i) / std::sqrt(c[3]->GetDouble(i) + epsilon);
              const double offset = c[1]->GetDouble(i) - c[2]->GetDouble(i) * scale;
              const double steps = scale * from.scale / to.scale;
              factor[i] = static_cast<float>(steps);
              factor[channels + i] = static_cast<float>(offset / to.scale - steps * from.zero);
            }
            return OkStatus();
          }};
}

class Channels final : public CpuKernel {
 public:
  Channels(const Facts& facts, elementwise::BroadcastLoop loop, PadLanes pads)
      : facts_(facts), loop_(std::move(loop)), pads_(std::move(pads)) {}

  std::vector<PackRequest> packs() const override { return {RequestConstants(facts_)}; }
  std::vector<Alias> aliases() const override { return {{.output = 0, .input = 0}}; }

  Status Run(const CpuLaunch& args) const override {
    const auto* x = args.inputs[0].host<uint8_t>();
    auto* y = args.outputs[0].host<uint8_t>();
    const auto* factor = args.packed[0].host<float>();
    const ByteTail& to = facts_.y;
    ChannelRowArgs common{.stride = loop_.stride(1),
                          .low = to.low - to.type.zero,
                          .high = to.high - to.type.zero,
                          .zero = to.type.zero,
                          .x_flip = facts_.x.flip,
                          .y_flip = to.type.flip};
    loop_.Run(args.stream, [&](const int64_t* offsets, int64_t n, int64_t at) {
      ChannelRowArgs row = common;
      row.x = x + offsets[0];
      row.y = y + at;
      row.factor = factor + offsets[1];
      row.addend = row.factor + facts_.channels;
      row.n = n;
      RunChannelRow(row);
    });
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  Facts facts_;
  elementwise::BroadcastLoop loop_;
  PadLanes pads_;
};

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  std::vector<Layout> layouts = BlockedLayouts(full);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(full.rank())});
  std::vector<StateAssignment> all;
  for (const Layout& layout : layouts) {
    if (!MakeLoop(full, layout).ok()) continue;
    const StateAssignment states{
        {{.layout = layout, .storage = group.value(group.inputs[0]).dtype}},
        {{.layout = layout, .storage = group.value(group.outputs[0]).dtype}}};
    if (std::find(all.begin(), all.end(), states) == all.end()) all.push_back(states);
  }
  return all;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const Shape& full = problem.shape(problem.group->outputs[0]);
  const Layout& layout = problem.states.outputs[0].layout;
  ASSIGN_OR_RETURN(elementwise::BroadcastLoop loop, MakeLoop(full, layout));
  return std::unique_ptr<PreparedKernel>(
      new Channels(facts, std::move(loop), PadLanes(full, layout, 1)));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<12>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuQuantisedChannels;
const KernelDesc kCpuQuantisedChannels = {.name = "cpu.quantised.channels",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
