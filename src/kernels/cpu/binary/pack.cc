// cpu.binary.pack: PackBits, whose channels lie side by side.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/pack_row.h"
#include "kernels/family.h"
#include "ops/binary/op.h"

namespace fettle::kernels {
namespace {

/// Floats that one task reads: enough to hide its claim.
constexpr int64_t kFloatsPerTask = 16 << 10;

struct Facts {
  ops::BitPacking packing;
  int64_t pixels = 0;
  Layout layout;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "PackBits"_op) return Unsupported("no PackBits");
  if (group.inputs.size() != 1) return Unsupported("its input is constant");
  const Shape& x = *group.value(node.inputs[0]).shape;
  Facts facts;
  ASSIGN_OR_RETURN(facts.packing, ops::ReadPackBits(node, x));
  if (facts.packing.axis != x.rank() - 1) {
    if (facts.packing.axis != 1) return Unsupported("channels on axis {}", facts.packing.axis);
    facts.layout = Layout::ChannelsLast(x.rank());
  }
  const int64_t channels = facts.packing.groups * facts.packing.channels;
  facts.pixels = channels == 0 ? 0 : x.elements() / channels;
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  StateAssignment states = RowMajorStates(group);
  states.inputs[0].layout = facts.layout;
  return std::vector<StateAssignment>{std::move(states)};
}

class BinaryPack final : public PreparedKernel {
 public:
  BinaryPack(const Problem&, const Facts& facts) : facts_(facts), row_(RowsOf(facts.packing)) {}

  Status Launch(const LaunchArgs& args) const override {
    const ops::BitPacking& packing = facts_.packing;
    const int64_t channels = packing.groups * packing.channels;
    const int64_t per_task = std::max<int64_t>(1, kFloatsPerTask / channels);
    const auto* x = args.inputs[0].host<float>();
    auto* y = args.outputs[0].host<uint64_t>();
    static_cast<CpuStream&>(args.stream)
        .ParallelFor((facts_.pixels + per_task - 1) / per_task, [&](int64_t task, int) {
          const int64_t end = std::min(facts_.pixels, (task + 1) * per_task) * packing.groups;
          PackRowArgs row = row_;
          for (int64_t i = task * per_task * packing.groups; i < end; ++i) {
            row.x = x + i * packing.channels;
            row.bits = y + i * packing.words();
            PackRow(row);
          }
        });
    return OkStatus();
  }

 private:
  Facts facts_;
  PackRowArgs row_;
};

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Make<BinaryPack, Facts>, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuBinaryPack;
const KernelDesc kCpuBinaryPack = {.name = "cpu.binary.pack", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
