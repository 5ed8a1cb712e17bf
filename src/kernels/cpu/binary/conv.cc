// cpu.binary.product: BinaryConv and BinaryMatMul, direct: no input is copied, taps outside of the
// image read zeros and are taken back.
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/geometry.h"
#include "kernels/cpu/binary/pack_weights.h"
#include "kernels/cpu/binary/results.h"
#include "kernels/cpu/binary/tile.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// Pixels and panels of one task: a panel stays in the first-level cache while its pixels pass.
constexpr int64_t kTaskPixels = 64, kTaskPanels = 16;
/// So that sums fit an int32.
constexpr int64_t kMaxPairs = int64_t{1} << 29;

struct Facts {
  ops::BinaryProduct product;
  BitGeometry geometry;
  ir::ValueId w = ir::kAbsent, results = ir::kAbsent;
  bool to_bits = false;
};

int64_t Align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || (node.op != "BinaryConv"_op && node.op != "BinaryMatMul"_op))
    return Unsupported("no product of bits");
  Facts facts{.w = node.inputs[1], .results = node.inputs[2]};
  if (!group.value(facts.w).is_constant() || !group.value(facts.results).is_constant() ||
      group.value(node.inputs[0]).is_constant())
    return Unsupported("computed weights");
  ASSIGN_OR_RETURN(facts.product, ops::ReadBinaryProduct(node, *group.value(node.inputs[0]).shape,
                                                         *group.value(facts.w).shape));
  ASSIGN_OR_RETURN(facts.geometry, BitGeometry::Make(facts.product));
  facts.to_bits = group.value(facts.results).dtype == DType::kI32;
  const ops::BinaryProduct& product = facts.product;
  if (product.taps() * product.channels > kMaxPairs) return Unsupported("over 2^29 bits a sum");
  if (facts.to_bits && product.groups > 1 && product.outputs / product.groups % kBitOutputs != 0)
    return Unsupported("bits of a group that end within a byte");
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  StateAssignment states = RowMajorStates(group);
  if (facts.product.is_conv && !facts.to_bits)
    states.outputs[0].layout = Layout::ChannelsLast(group.value(group.outputs[0]).shape->rank());
  return std::vector<StateAssignment>{std::move(states)};
}

class BinaryProductKernel final : public PreparedKernel {
 public:
  BinaryProductKernel(const Facts& facts, int lanes)
      : facts_(facts),
        blob_(facts.product, facts.to_bits),
        tile_(ChooseBitTile()),
        factors_(FactorsOf(facts.product)),
        lanes_(lanes) {}

  std::vector<PackRequest> packs() const override {
    const ops::BinaryProduct& p = facts_.product;
    const std::string recipe =
        fmt::format("binary.panels8.{}.c{}g{}.x{}_{}.{}{}", facts_.to_bits ? "bits" : "f32",
                    p.channels, p.groups, p.x_zero, p.x_one, p.x_unipolar, p.w_unipolar);
    return {{{facts_.w, facts_.results},
             recipe,
             blob_.bytes(),
             [p](std::span<const Constant* const> constants, std::byte* out) {
               return PackBitWeights(p, *constants[0], *constants[1], out);
             }}};
  }

  int64_t workspace_bytes() const override { return ZeroBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    std::memset(args.workspace.host<std::byte>(), 0, ZeroBytes());
    const int64_t pixel_tasks = (facts_.geometry.pixels() + kTaskPixels - 1) / kTaskPixels;
    const int64_t panel_tasks = (blob_.panels + kTaskPanels - 1) / kTaskPanels;
    const int64_t tasks = facts_.product.groups * panel_tasks * pixel_tasks;
    static_cast<CpuStream&>(args.stream).ParallelFor(tasks, [&](int64_t task, int lane) {
      Task part;
      part.first = task % pixel_tasks * kTaskPixels;
      part.pixels = std::min(kTaskPixels, facts_.geometry.pixels() - part.first);
      part.group = task / pixel_tasks / panel_tasks;
      part.panel = task / pixel_tasks % panel_tasks * kTaskPanels;
      part.panels = std::min(kTaskPanels, blob_.panels - part.panel);
      std::byte* scratch = args.workspace.host<std::byte>() + ZeroBytes() + lane * LaneBytes();
      part.is_plain = *reinterpret_cast<const int64_t*>(args.packed[0].host<std::byte>() +
                                                        blob_.plain_offset()) != 0;
      part.tile = part.pixels == 1 ? 1 : tile_.pixels;
      part.pairs = reinterpret_cast<int32_t*>(scratch);
      part.ones = part.pairs + kTaskPixels;
      part.rows = reinterpret_cast<const uint64_t**>(scratch + kTaskPixels * 8);
      part.outside = reinterpret_cast<int32_t*>(part.rows + kTaskPixels * blob_.taps);
      RunTask(args, part);
    });
    return OkStatus();
  }

 private:
  struct Task {
    int64_t first = 0, pixels = 0;
    int64_t group = 0, panel = 0, panels = 0;  // panel: of the group
    int64_t tile = 1;                          // pixels
    bool is_plain = true;
    int32_t *pairs = nullptr, *ones = nullptr;  // of each pixel
    const uint64_t** rows = nullptr;            // [tile][tap][pixel]
    int32_t* outside = nullptr;  // [pixel][1 + taps]: how many taps lie outside, and which
  };

  int64_t ZeroBytes() const { return Align(blob_.words * 8); }
  int64_t LaneBytes() const {
    return Align(kTaskPixels * (8 + blob_.taps * 8 + (blob_.taps + 1) * 4));
  }

  /// The rows of all pixels of the task; those behind the last one are zeros.
  void FillRows(const LaunchArgs& args, const Task& task) const {
    const auto* zeros = args.workspace.host<uint64_t>();
    const uint64_t* x = args.inputs[0].host<uint64_t>() + task.group * blob_.words;
    const int64_t whole = (task.pixels + task.tile - 1) / task.tile * task.tile;
    for (int64_t p = 0; p < whole; ++p) {
      const uint64_t** rows = task.rows + p / task.tile * task.tile * blob_.taps + p % task.tile;
      if (p >= task.pixels) {
        for (int64_t t = 0; t < blob_.taps; ++t) rows[t * task.tile] = zeros;
        continue;
      }
      const int64_t inside = facts_.geometry.FillRows(x, zeros, task.first + p, task.tile, rows);
      int32_t* outside = task.outside + p * (blob_.taps + 1);
      outside[0] = 0;
      for (int64_t t = 0; inside < blob_.taps && t < blob_.taps; ++t) {
        if (rows[t * task.tile] == zeros) outside[++outside[0]] = static_cast<int32_t>(t);
      }
      task.pairs[p] = static_cast<int32_t>(inside * facts_.product.channels);
      task.ones[p] = task.is_plain ? 0 : OnesOf(rows, task.tile);
    }
  }

  int32_t OnesOf(const uint64_t* const* rows, int64_t stride) const {
    int32_t ones = 0;
    for (int64_t t = 0; t < blob_.taps; ++t) {
      for (int64_t i = 0; i < blob_.words; ++i) ones += std::popcount(rows[t * stride][i]);
    }
    return ones;
  }

  void RunTask(const LaunchArgs& args, const Task& task) const {
    FillRows(args, task);
    const auto* blob = args.packed[0].host<std::byte>();
    alignas(64) uint32_t sums[kMaxBitPixels * kBitOutputs];
    BitTileArgs tile{.taps = blob_.taps, .words = blob_.words, .sums = sums};
    const auto count = task.tile == 1 ? tile_.single : tile_.whole;
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      const int64_t at = task.group * blob_.panels + task.panel + panel;
      tile.weights = reinterpret_cast<const uint64_t*>(blob) + at * blob_.panel_words();
      for (int64_t p = 0; p < task.pixels; p += task.tile) {
        tile.rows = task.rows + p * blob_.taps;
        count(tile);
        Store(args, task, task.panel + panel, p, sums);
      }
    }
  }

  /// The results of a tile, whose first pixel is `first` of the task's.
  void Store(const LaunchArgs& args, const Task& task, int64_t panel, int64_t first,
             const uint32_t* differ) const {
    const auto* blob = args.packed[0].host<std::byte>();
    const int64_t at = task.group * blob_.panels + panel;
    const int32_t* ones = reinterpret_cast<const int32_t*>(blob + blob_.ones_offset()) +
                          at * (blob_.taps + 1) * kBitOutputs;
    const std::byte* results = blob + blob_.results_offset() + at * blob_.panel_bytes;
    alignas(64) int32_t outside[kMaxBitPixels * kBitOutputs] = {};
    BitTileSums sums{.pixels = static_cast<int>(std::min(task.tile, task.pixels - first)),
                     .differ = differ,
                     .outside = outside,
                     .w_ones = ones + blob_.taps * kBitOutputs,
                     .x_ones = task.ones + first,
                     .pairs = task.pairs + first};
    for (int64_t i = 0; i < sums.pixels; ++i) {
      const int32_t* taps = task.outside + (first + i) * (blob_.taps + 1);
      for (int32_t t = 1; t <= taps[0]; ++t) {
        for (int o = 0; o < kBitOutputs; ++o)
          outside[i * kBitOutputs + o] += ones[taps[t] * kBitOutputs + o];
      }
    }
    StoreTile(args, task, panel, task.first + first, sums, results);
  }

  void StoreTile(const LaunchArgs& args, const Task& task, int64_t panel, int64_t pixel,
                 const BitTileSums& sums, const std::byte* results) const {
    const ops::BinaryProduct& product = facts_.product;
    const int64_t outputs = product.outputs / product.groups;
    const int64_t first = task.group * outputs + panel * kBitOutputs;
    if (!facts_.to_bits) {
      StoreFloats(sums, *reinterpret_cast<const FloatPanel*>(results), task.is_plain,
                  args.outputs[0].host<float>() + pixel * product.outputs + first, product.outputs,
                  std::min<int64_t>(kBitOutputs, outputs - panel * kBitOutputs));
      return;
    }
    const int64_t bytes = ops::WordsOf(product.outputs) * 8;
    auto* y = args.outputs[0].host<uint8_t>() + pixel * bytes;
    StoreBits(sums, *reinterpret_cast<const LimitPanel*>(results), factors_, y + first / 8, bytes);
    const int64_t used = (product.outputs + 7) / 8;
    if (first / 8 + 1 != used) return;
    for (int64_t i = 0; i < sums.pixels; ++i)
      std::fill_n(y + i * bytes + used, bytes - used, uint8_t{0});
  }

  Facts facts_;
  BitBlob blob_;
  BitTile tile_;
  LimitFactors factors_;
  int lanes_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem&, const Facts& facts, const Params&,
                                                const Device& device) {
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(new BinaryProductKernel(facts, lanes));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuBinaryProduct;
const KernelDesc kCpuBinaryProduct = {
    .name = "cpu.binary.product", .arithmetic = Arithmetic::kBits, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
