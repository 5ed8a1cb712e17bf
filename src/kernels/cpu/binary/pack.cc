// cpu.binary.pack: PackBits, whose channels lie side by side, of a tensor or of what element-wise
// operators make of it (a shifted sign), which stays in the cache.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/pack_row.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/family.h"
#include "ops/binary/op.h"

namespace fettle::kernels {
namespace {

/// Floats that one task reads: enough to hide its claim.
constexpr int64_t kFloatsPerTask = 16 << 10;
/// Floats that operators make before they are packed.
constexpr int64_t kFloatsAtOnce = 2 << 10;

struct Facts {
  ops::BitPacking packing;
  int64_t pixels = 0;
  Layout layout;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes().back();
  if (node.op != "PackBits"_op) return Unsupported("no PackBits");
  if (group.inputs.size() != 1) return Unsupported("its input is constant");
  const ir::Value& input = group.value(group.inputs[0]);
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (input.dtype != DType::kF32 || *input.shape != x)
    return Unsupported("what is packed has another shape than the input");
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

/// What comes before PackBits; nothing where it is alone.
Result<std::optional<elementwise::Program>> CompileShift(const ir::Graph& group,
                                                         StateAssignment states) {
  if (group.nodes().size() == 1) return std::optional<elementwise::Program>();
  ir::Graph shift = group;
  shift.outputs = {group.nodes().back().inputs[0]};
  states.outputs = {states.inputs[0]};
  ASSIGN_OR_RETURN(
      elementwise::Program program,
      elementwise::Program::Compile(shift, states, elementwise::Geometry::kRows, ir::kAbsent));
  return std::optional<elementwise::Program>(std::move(program));
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  StateAssignment states = RowMajorStates(group);
  states.inputs[0].layout = facts.layout;
  RETURN_IF_ERROR(CompileShift(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class BinaryPack final : public PreparedKernel {
 public:
  BinaryPack(const Facts& facts, std::optional<elementwise::Program> shift, int lanes)
      : facts_(facts),
        channels_(facts.packing.groups * facts.packing.channels),
        at_once_(std::max<int64_t>(1, kFloatsAtOnce / std::max<int64_t>(1, channels_))),
        row_(RowsOf(facts.packing)),
        shift_(std::move(shift)),
        lanes_(lanes) {}

  std::vector<PackRequest> packs() const override {
    return shift_ ? shift_->packs() : std::vector<PackRequest>();
  }
  int64_t workspace_bytes() const override { return shift_ ? lanes_ * LaneFloats() * 4 : 0; }

  Status Launch(const LaunchArgs& args) const override {
    const int64_t per_task = std::max<int64_t>(1, kFloatsPerTask / std::max<int64_t>(1, channels_));
    elementwise::Binding binding;
    if (shift_) binding = shift_->Bind(args.inputs, args.packed, {});
    static_cast<CpuStream&>(args.stream)
        .ParallelFor((facts_.pixels + per_task - 1) / per_task, [&](int64_t task, int lane) {
          const int64_t end = std::min(facts_.pixels, (task + 1) * per_task);
          for (int64_t row = task * per_task; row < end;) {
            const int64_t rows = shift_ ? std::min(at_once_, end - row) : end - row;
            const float* x = args.inputs[0].host<float>() + row * channels_;
            if (shift_) x = Shift(args, binding, row, rows, lane);
            Pack(args, x, row, rows);
            row += rows;
          }
        });
    return OkStatus();
  }

 private:
  int64_t LaneFloats() const { return (at_once_ * channels_ + 15) / 16 * 16; }

  const float* Shift(const LaunchArgs& args, const elementwise::Binding& binding, int64_t row,
                     int64_t rows, int lane) const {
    float* out = args.workspace.host<float>() + lane * LaneFloats();
    elementwise::Tile tile{.row = row, .rows = rows};
    tile.cols = channels_;
    tile.out = out;
    tile.out_stride = channels_;
    shift_->Run(binding, tile);
    return out;
  }

  void Pack(const LaunchArgs& args, const float* x, int64_t first, int64_t rows) const {
    const ops::BitPacking& packing = facts_.packing;
    PackRowArgs row = row_;
    row.bits = args.outputs[0].host<uint64_t>() + first * packing.groups * packing.words();
    for (int64_t i = 0; i < rows * packing.groups; ++i, row.bits += packing.words()) {
      row.x = x + i * packing.channels;
      PackRow(row);
    }
  }

  Facts facts_;
  int64_t channels_, at_once_;
  PackRowArgs row_;
  std::optional<elementwise::Program> shift_;
  int lanes_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> shift,
                   CompileShift(*problem.group, problem.states));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(new BinaryPack(facts, std::move(shift), lanes));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuBinaryPack;
const KernelDesc kCpuBinaryPack = {
    .name = "cpu.binary.pack", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
