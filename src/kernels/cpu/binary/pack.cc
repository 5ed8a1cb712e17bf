// cpu.binary.pack: PackBits, whose channels lie side by side, of a tensor or of what element-wise
// operators make of it (a shifted sign), which stays in the cache. What others read, too, on the
// way there is an output beside the bits.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/pack_row.h"
#include "kernels/cpu/cpu_kernel.h"
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
  bool stores_floats = false;  // output 0, before the bits
  int64_t pixels = 0;
  Layout layout;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes().back();
  if (node.op != "PackBits"_op) return Unsupported("computes PackBits only");
  if (group.inputs.size() != 1) return Unsupported("its input is constant");
  const ir::Value& input = group.value(group.inputs[0]);
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (input.dtype != DType::kF32 || *input.shape != x)
    return Unsupported("what is packed has another shape than the input");
  Facts facts{.packing = {}, .stores_floats = group.outputs.size() == 2};
  if (group.outputs.back() != node.outputs[0] || group.outputs.size() > 2)
    return Unsupported("several values inside the group are outputs");
  if (facts.stores_floats) {
    const ir::Value& floats = group.value(group.outputs[0]);
    if (floats.dtype != DType::kF32 || *floats.shape != x)
      return Unsupported("the floats beside the bits have another shape or type");
  }
  ASSIGN_OR_RETURN(facts.packing, ops::ReadPackBits(node, x));
  if (facts.packing.axis != x.rank() - 1) {
    if (facts.packing.axis != 1) return Unsupported("channels on axis {}", facts.packing.axis);
    facts.layout = Layout::ChannelsLast(x.rank());
  }
  const int64_t channels = facts.packing.groups * facts.packing.channels;
  facts.pixels = channels == 0 ? 0 : x.elements() / channels;
  return facts;
}

/// What comes before PackBits: from the input to the floats that are an output, and from there to
/// what is packed. Nothing where there is nothing to do.
struct Chains {
  std::optional<elementwise::Program> to_floats, to_packed;
};

Result<elementwise::Program> CompileTo(ir::ValueId result, const ir::Graph& group,
                                       StateAssignment states, ir::ValueId running) {
  ir::Graph chain = group;
  chain.outputs = {result};
  states.outputs = {states.inputs[0]};
  return elementwise::Program::Compile(chain, states, elementwise::Geometry::kRows, running);
}

Result<Chains> CompileChains(const ir::Graph& group, const Facts& facts,
                             const StateAssignment& states) {
  Chains chains;
  const ir::ValueId packed = group.nodes().back().inputs[0];
  ir::ValueId running = ir::kAbsent;
  if (facts.stores_floats) {
    running = group.outputs[0];
    ASSIGN_OR_RETURN(chains.to_floats, CompileTo(running, group, states, ir::kAbsent));
  }
  if (packed == running || packed == group.inputs[0]) return chains;
  ASSIGN_OR_RETURN(chains.to_packed, CompileTo(packed, group, states, running));
  return chains;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  StateAssignment states = RowMajorStates(group);
  states.inputs[0].layout = facts.layout;
  if (facts.stores_floats) states.outputs[0].layout = facts.layout;
  RETURN_IF_ERROR(CompileChains(group, facts, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class BinaryPack final : public CpuKernel {
 public:
  BinaryPack(const Facts& facts, Chains chains, int lanes)
      : CpuKernel(lanes),
        facts_(facts),
        channels_(facts.packing.groups * facts.packing.channels),
        at_once_(std::max<int64_t>(1, kFloatsAtOnce / std::max<int64_t>(1, channels_))),
        row_(RowsOf(facts.packing)),
        chains_(std::move(chains)) {}

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all;
    for (const auto* chain : {&chains_.to_floats, &chains_.to_packed}) {
      if (*chain) all.insert(all.end(), (*chain)->packs().begin(), (*chain)->packs().end());
    }
    return all;
  }
  /// Each float is read before it is written over.
  std::vector<Alias> aliases() const override {
    return facts_.stores_floats ? std::vector<Alias>{{.output = 0, .input = 0}}
                                : std::vector<Alias>();
  }

  Status Run(const CpuLaunch& args) const override {
    const int64_t per_task = std::max<int64_t>(1, kFloatsPerTask / std::max<int64_t>(1, channels_));
    elementwise::Binding to_floats, to_packed;
    size_t packs = 0;
    if (chains_.to_floats) {
      to_floats = chains_.to_floats->Bind(args.inputs, args.packed, {});
      packs = chains_.to_floats->packs().size();
    }
    if (chains_.to_packed)
      to_packed = chains_.to_packed->Bind(args.inputs, args.packed.subspan(packs), {});
    args.stream.ParallelFor((facts_.pixels + per_task - 1) / per_task, [&](int64_t task, int lane) {
      const int64_t end = std::min(facts_.pixels, (task + 1) * per_task);
      for (int64_t row = task * per_task; row < end;) {
        const int64_t rows = std::min(at_once_, end - row);
        const float* x = args.inputs[0].host<float>() + row * channels_;
        if (chains_.to_floats) {
          float* y = args.outputs[0].host<float>() + row * channels_;
          Run(*chains_.to_floats, to_floats, {row, rows, nullptr, y});
          x = y;
        }
        if (chains_.to_packed) {
          float* shifted = args.At(shifted_, lane);
          Run(*chains_.to_packed, to_packed,
              {row, rows, facts_.stores_floats ? x : nullptr, shifted});
          x = shifted;
        }
        Pack(args, x, row, rows);
        row += rows;
      }
    });
    return OkStatus();
  }

 private:
  struct Rows {
    int64_t first = 0, count = 0;
    const float* running = nullptr;  // null: the chain begins with the input
    float* out = nullptr;
  };
  void Run(const elementwise::Program& chain, const elementwise::Binding& binding,
           const Rows& rows) const {
    chain.Run(binding, {.row = rows.first,
                        .rows = rows.count,
                        .cols = channels_,
                        .running = rows.running,
                        .running_stride = channels_,
                        .out = rows.out,
                        .out_stride = channels_});
  }

  void Pack(const CpuLaunch& args, const float* x, int64_t first, int64_t rows) const {
    const ops::BitPacking& packing = facts_.packing;
    PackRowArgs row = row_;
    row.bits = args.outputs.back().host<uint64_t>() + first * packing.groups * packing.words();
    for (int64_t i = 0; i < rows * packing.groups; ++i, row.bits += packing.words()) {
      row.x = x + i * packing.channels;
      PackRow(row);
    }
  }

  Facts facts_;
  int64_t channels_, at_once_;
  PackRowArgs row_;
  Chains chains_;
  LaneScratch<float> shifted_ = PerLane<float>(chains_.to_packed ? at_once_ * channels_ : 0);
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(Chains chains, CompileChains(*problem.group, facts, problem.states));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(new BinaryPack(facts, std::move(chains), lanes));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuBinaryPack;
const KernelDesc kCpuBinaryPack = {
    .name = "cpu.binary.pack", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
