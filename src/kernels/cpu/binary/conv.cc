// cpu.binary.product: BinaryConv and BinaryMatMul, direct: no input is copied, taps outside of the
// image read zeros and are taken back. A tail of element-wise operators runs on each task's floats,
// and their signs may be bits again.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/geometry.h"
#include "kernels/cpu/binary/pack_weights.h"
#include "kernels/cpu/binary/results.h"
#include "kernels/cpu/binary/tail.h"
#include "kernels/cpu/binary/task_rows.h"
#include "kernels/cpu/binary/tile.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// Panels of one task: their channels fill whole words of bits.
constexpr int64_t kTaskPanels = 16, kTaskColumns = kTaskPanels * kBitOutputs;
/// So that sums fit an int32.
constexpr int64_t kMaxPairs = int64_t{1} << 29;

struct Facts {
  ops::BinaryProduct product;
  BitGeometry geometry;
  ir::ValueId w = ir::kAbsent, results = ir::kAbsent;
  bool to_bits = false;  // by limits of the sums
  TailFacts tail;
};

int64_t Align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "BinaryConv"_op && node.op != "BinaryMatMul"_op)
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
  if (facts.to_bits && group.nodes().size() > 1) return Unsupported("what follows bits");
  ASSIGN_OR_RETURN(facts.tail, ReadTail(group));
  if (facts.to_bits && product.groups > 1 && product.outputs / product.groups % kBitOutputs != 0)
    return Unsupported("bits of a group that end within a byte");
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  StateAssignment states = RowMajorStates(group);
  const auto take_last = [&](ir::ValueId id, State& state) {
    const ir::Value& value = group.value(id);
    if (value.dtype == DType::kU64 || value.shape->rank() != facts.product.spatial_rank() + 2)
      return;
    state.layout = Layout::ChannelsLast(value.shape->rank());
  };
  for (size_t i = 0; facts.product.is_conv && i < states.inputs.size(); ++i)
    take_last(group.inputs[i], states.inputs[i]);
  for (size_t i = 0; facts.product.is_conv && i < states.outputs.size(); ++i)
    take_last(group.outputs[i], states.outputs[i]);
  RETURN_IF_ERROR(ProductTail::Compile(group, facts.tail, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class BinaryProductKernel final : public PreparedKernel {
 public:
  BinaryProductKernel(const Facts& facts, ProductTail tail, int lanes)
      : facts_(facts),
        tail_(std::move(tail)),
        blob_(facts.product, facts.to_bits),
        tile_(ChooseBitTile()),
        factors_(FactorsOf(facts.product)),
        lanes_(lanes) {}

  std::vector<PackRequest> packs() const override {
    const ops::BinaryProduct& p = facts_.product;
    const std::string recipe =
        fmt::format("binary.panels8s.{}.c{}g{}.x{}_{}.{}{}", facts_.to_bits ? "bits" : "f32",
                    p.channels, p.groups, p.x_zero, p.x_one, p.x_unipolar, p.w_unipolar);
    std::vector<PackRequest> all = {
        {{facts_.w, facts_.results},
         recipe,
         blob_.bytes(),
         [p](std::span<const Constant* const> constants, std::byte* out) {
           return PackBitWeights(p, *constants[0], *constants[1], out);
         }}};
    tail_.AppendPacks(all);
    return all;
  }

  int64_t workspace_bytes() const override { return BesideBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    auto* beside = args.workspace.host<uint64_t>();
    for (int64_t i = 0; i < blob_.words; ++i)
      beside[i] =
          facts_.product.pad_bit.value_or(false) ? ops::WordMask(facts_.product.channels, i) : 0;
    const int64_t pixel_tasks = (facts_.geometry.pixels() + kTaskPixels - 1) / kTaskPixels;
    const int64_t panel_tasks = (blob_.panels + kTaskPanels - 1) / kTaskPanels;
    const int64_t tasks = facts_.product.groups * panel_tasks * pixel_tasks;
    static_cast<CpuStream&>(args.stream).ParallelFor(tasks, [&](int64_t i, int lane) {
      std::byte* scratch = args.workspace.host<std::byte>() + BesideBytes() + lane * LaneBytes();
      Task task{.rows = TaskRows(facts_.product, facts_.geometry, scratch)};
      task.first = i % pixel_tasks * kTaskPixels;
      task.pixels = std::min(kTaskPixels, facts_.geometry.pixels() - task.first);
      task.group = i / pixel_tasks / panel_tasks;
      task.panel = i / pixel_tasks % panel_tasks * kTaskPanels;
      task.panels = std::min(kTaskPanels, blob_.panels - task.panel);
      task.tile = task.pixels == 1 ? 1 : tile_.pixels;
      task.form = *reinterpret_cast<const FloatForm*>(args.packed[0].host<std::byte>() +
                                                      blob_.form_offset());
      PlaceFloats(args, reinterpret_cast<float*>(scratch + RowBytes()), task);
      RunTask(args, task);
    });
    return OkStatus();
  }

 private:
  struct Task {
    TaskRows rows;
    int64_t first = 0, pixels = 0;
    int64_t group = 0, panel = 0, panels = 0;  // panel: of the group
    int64_t tile = 1;                          // pixels
    FloatForm form = FloatForm::kAny;
    ProductTail::Block block;  // where its floats go
  };

  int64_t BesideBytes() const { return Align(blob_.words * 8); }
  int64_t RowBytes() const { return Align(TaskRows::Bytes(blob_.taps)); }
  /// Floats of a task that no output takes, and what PackBits reads where that is something else.
  int64_t LaneBytes() const {
    return RowBytes() + (tail_.packs_bits() ? 2 * kTaskPixels * kTaskColumns * 4 : 0);
  }

  void PlaceFloats(const LaunchArgs& args, float* scratch, Task& task) const {
    if (facts_.to_bits) return;
    const int64_t outputs = facts_.product.outputs / facts_.product.groups;
    const int64_t column = task.panel * kBitOutputs;
    ProductTail::Block& block = task.block;
    block.row = task.first;
    block.rows = task.pixels;
    block.column = task.group * outputs + column;
    block.columns = std::min(kTaskColumns, outputs - column);
    block.scratch = scratch + kTaskPixels * kTaskColumns;
    block.floats = scratch;
    block.stride = block.columns;
    if (tail_.needs_floats()) return;
    block.stride = facts_.product.outputs;
    block.floats =
        args.outputs[tail_.float_output()].host<float>() + task.first * block.stride + block.column;
  }

  void RunTask(const LaunchArgs& args, Task& task) const {
    const bool is_any = facts_.to_bits ? factors_.x_ones != 0 : task.form == FloatForm::kAny;
    task.rows.Fill(
        args.inputs[0].host<uint64_t>() + task.group * blob_.words, args.workspace.host<uint64_t>(),
        {task.first, task.pixels, task.tile, facts_.product.pad_bit.has_value(), is_any});
    const auto* blob = args.packed[0].host<std::byte>();
    alignas(64) int32_t differ[kTaskPixels * kBitOutputs], outside[kTaskPixels * kBitOutputs];
    BitTileArgs tiles{.rows = task.rows.tile(0),
                      .taps = blob_.taps,
                      .words = blob_.words,
                      .tiles = (task.pixels + task.tile - 1) / task.tile,
                      .sums = differ};
    const auto count = task.tile == 1 ? tile_.single : tile_.whole;
    const bool reads_outside = facts_.to_bits ? factors_.w_ones != 0 : task.form == FloatForm::kAny;
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      const int64_t at = task.group * blob_.panels + task.panel + panel;
      const int32_t* ones = reinterpret_cast<const int32_t*>(blob + blob_.ones_offset()) +
                            at * (blob_.taps + 1) * kBitOutputs;
      tiles.weights = reinterpret_cast<const uint64_t*>(blob) + at * blob_.panel_words();
      count(tiles);
      if (reads_outside) std::fill_n(outside, task.pixels * kBitOutputs, 0);
      TakeOutside(task.rows.outside(), ones, differ, reads_outside ? outside : nullptr);
      Store(args, task, panel,
            {.pixels = task.pixels,
             .differ = differ,
             .outside = reads_outside ? outside : nullptr,
             .w_ones = ones + blob_.taps * kBitOutputs,
             .x_ones = task.rows.ones(),
             .pairs = task.rows.pairs()});
    }
    if (!facts_.to_bits) tail_.Run(args, 1, task.block);
  }

  /// `panel`: of the task.
  void Store(const LaunchArgs& args, const Task& task, int64_t panel, const BitSums& sums) const {
    const auto* blob = args.packed[0].host<std::byte>();
    const int64_t at = task.group * blob_.panels + task.panel + panel;
    const std::byte* results = blob + blob_.results_offset() + at * blob_.panel_bytes;
    const int64_t column = panel * kBitOutputs;
    if (!facts_.to_bits) {
      StoreFloats(sums, *reinterpret_cast<const FloatPanel*>(results), task.form,
                  task.block.floats + column, task.block.stride,
                  std::min<int64_t>(kBitOutputs, task.block.columns - column));
      return;
    }
    const ops::BinaryProduct& product = facts_.product;
    const int64_t first =
        task.group * product.outputs / product.groups + task.panel * kBitOutputs + column;
    const int64_t bytes = ops::WordsOf(product.outputs) * 8;
    auto* y = args.outputs[0].host<uint8_t>() + task.first * bytes;
    StoreBits(sums, *reinterpret_cast<const LimitPanel*>(results), factors_, y + first / 8, bytes);
    const int64_t used = (product.outputs + 7) / 8;
    if (first / 8 + 1 != used) return;
    for (int64_t i = 0; i < task.pixels; ++i)
      std::fill_n(y + i * bytes + used, bytes - used, uint8_t{0});
  }

  Facts facts_;
  ProductTail tail_;
  BitBlob blob_;
  BitTile tile_;
  LimitFactors factors_;
  int lanes_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(ProductTail tail,
                   ProductTail::Compile(*problem.group, facts.tail, problem.states));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(new BinaryProductKernel(facts, std::move(tail), lanes));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuBinaryProduct;
const KernelDesc kCpuBinaryProduct = {.name = "cpu.binary.product",
                                      .version = 2,
                                      .arithmetic = Arithmetic::kBits,
                                      .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
