// cpu.shuffle.interleave: ChannelShuffle of two groups, channels-last, and of what a Concat of two
// equal halves makes: read where the halves are, bytes through their tables.
#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/shuffle/interleave.h"
#include "kernels/cpu/table_lookup/byte_map.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Bytes of a half that are looked up at once: they stay in the first-level cache.
constexpr int64_t kBlockBytes = 4096;

/// One half of the channels of each pixel.
struct Half {
  int input = 0;         // of the group
  int64_t begin = 0;     // first channel there
  int64_t channels = 0;  // of a pixel there
  ir::ValueId table = ir::kAbsent;
};

struct Facts {
  std::array<Half, 2> halves;
  int64_t pixels = 0, channels = 0;  // of a half
  DType dtype = DType::kUndefined;
};

const ir::Node* ProducerIn(const ir::Graph& group, ir::ValueId id) {
  const auto& nodes = group.nodes();
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [id](const ir::Node& node) { return node.output(0) == id; });
  return at == nodes.end() ? nullptr : &*at;
}

Result<int> InputOf(const ir::Graph& group, ir::ValueId id) {
  const auto at = std::find(group.inputs.begin(), group.inputs.end(), id);
  if (at == group.inputs.end()) return Unsupported("an operand is constant");
  return static_cast<int>(at - group.inputs.begin());
}

/// A half that is an operand of the Concat.
Result<Half> ReadHalf(const ir::Graph& group, ir::ValueId id, int64_t channels) {
  Half half{.channels = channels};
  if (const ir::Node* map = ProducerIn(group, id); map != nullptr) {
    if (map->op != "TableLookup"_op || !group.value(map->inputs[1]).is_constant())
      return Unsupported("an operand that does not come from a table");
    half.table = map->inputs[1];
    id = map->inputs[0];
  }
  ASSIGN_OR_RETURN(half.input, InputOf(group, id));
  return half;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& shuffle = group.nodes().back();
  if (shuffle.op != "ChannelShuffle"_op || shuffle.attributes.Int("groups", 1) != 2)
    return Unsupported("computes shuffles of two groups only");
  if (group.outputs.size() != 1 || group.outputs[0] != shuffle.output(0))
    return Unsupported("several outputs");
  const ir::Value& y = group.value(group.outputs[0]);
  if (y.shape->elements() == 0) return Unsupported("nothing to move");
  Facts facts{.channels = (*y.shape)[1] / 2, .dtype = y.dtype};
  facts.pixels = y.shape->elements() / (2 * facts.channels);
  if (!IsStored(y.dtype) || FindInterleave(StorageBytes(y.dtype, 1)) == nullptr)
    return Unsupported("elements of type {}", DTypeName(y.dtype));
  const ir::Node* join = ProducerIn(group, shuffle.inputs[0]);
  if (join == nullptr) {
    ASSIGN_OR_RETURN(const int input, InputOf(group, shuffle.inputs[0]));
    facts.halves = {Half{input, 0, 2 * facts.channels},
                    Half{input, facts.channels, 2 * facts.channels}};
    return facts;
  }
  if (join->op != "Concat"_op || join->inputs.size() != 2 ||
      *NormaliseAxis(join->attributes.Int("axis", 1), y.shape->rank()) != 1 ||
      (*group.value(join->inputs[0]).shape)[1] != facts.channels) {
    return Unsupported("not a Concat of two equal halves");
  }
  for (size_t i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(facts.halves[i], ReadHalf(group, join->inputs[i], facts.channels));
  }
  return facts;
}

class Shuffle final : public CpuKernel {
 public:
  Shuffle(const Problem& problem, const Facts& facts)
      : facts_(facts),
        bytes_(StorageBytes(problem.states.outputs[0].storage, 1)),
        interleave_(FindInterleave(bytes_)),
        map_(ChooseByteMap()) {}

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (const Half& half : facts_.halves) {
      if (half.table == ir::kAbsent) continue;
      requests.push_back({{half.table},
                          "row",
                          256,
                          [](std::span<const Constant* const> constants, std::byte* out) {
                            constants[0]->CopyTo(0, 256, out);
                            return OkStatus();
                          }});
    }
    return requests;
  }

  Status Run(const CpuLaunch& args) const override {
    const int64_t block = std::max<int64_t>(1, kBlockBytes / (facts_.channels * bytes_));
    const int64_t per_task = block * 8;
    const int64_t tasks = (facts_.pixels + per_task - 1) / per_task;
    args.stream.ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t end = std::min(facts_.pixels, (task + 1) * per_task);
      for (int64_t pixel = task * per_task; pixel < end; pixel += block)
        RunBlock(args, pixel, std::min(block, end - pixel));
    });
    return OkStatus();
  }

 private:
  struct Rows {
    const std::byte* data;
    int64_t stride;
  };

  /// The rows of a half; those of a table that fit are looked up into `scratch`.
  Rows Fetch(const LaunchArgs& args, size_t i, int64_t pixel, int64_t count,
             std::byte* scratch) const {
    const Half& half = facts_.halves[i];
    const std::byte* x =
        args.inputs[half.input].host<std::byte>() + (pixel * half.channels + half.begin) * bytes_;
    if (half.table == ir::kAbsent) return {x, half.channels};
    const size_t packed = i == 1 && facts_.halves[0].table != ir::kAbsent ? 1 : 0;
    map_({.table = args.packed[packed].host<uint8_t>(),
          .x = reinterpret_cast<const uint8_t*>(x),
          .y = reinterpret_cast<uint8_t*>(scratch),
          .columns = count * half.channels});
    return {scratch, half.channels};
  }

  void RunBlock(const LaunchArgs& args, int64_t pixel, int64_t count) const {
    alignas(64) std::byte scratch[2][kBlockBytes];
    const Rows a = Fetch(args, 0, pixel, count, scratch[0]);
    const Rows b = Fetch(args, 1, pixel, count, scratch[1]);
    interleave_({.a = a.data,
                 .b = b.data,
                 .a_stride = a.stride,
                 .b_stride = b.stride,
                 .y = args.outputs[0].host<std::byte>() + pixel * 2 * facts_.channels * bytes_,
                 .rows = count,
                 .n = facts_.channels});
  }

  Facts facts_;
  int64_t bytes_;
  InterleaveFunction interleave_;
  ByteMapFunction map_;
};

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const bool has_table =
      facts.halves[0].table != ir::kAbsent || facts.halves[1].table != ir::kAbsent;
  if (has_table && facts.channels > kBlockBytes) return Unsupported("very many channels");
  const Layout layout = Layout::ChannelsLast(group.value(group.outputs[0]).shape->rank());
  StateAssignment states;
  for (ir::ValueId id : group.inputs)
    states.inputs.push_back({.layout = layout, .storage = group.value(id).dtype});
  states.outputs.push_back({.layout = layout, .storage = facts.dtype});
  return std::vector<StateAssignment>{states};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<Shuffle, Facts>,
                                .taste = Always<12>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuShuffleInterleave;
const KernelDesc kCpuShuffleInterleave = {.name = "cpu.shuffle.interleave",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
