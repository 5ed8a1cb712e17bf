// cpu.binary.product: BinaryConv and BinaryMatMul, direct: an input with padding is copied once,
// with it; taps there read zeros, which are taken back. A tail of element-wise operators runs on
// each task's floats, and their signs may be bits again. cpu.binary.tables counts by looking up
// four bits of two outputs, where vectors do not count their own words.
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/hash.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/counter.h"
#include "kernels/cpu/binary/pack_weights.h"
#include "kernels/cpu/binary/product_facts.h"
#include "kernels/cpu/binary/results.h"
#include "kernels/cpu/binary/tail.h"
#include "kernels/cpu/binary/task_rows.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/family.h"
#include "kernels/join_windows.h"

namespace fettle::kernels {
namespace {

/// Panels of one task: their channels fill whole words of bits.
constexpr int64_t kTaskPanels = 16, kTaskColumns = kTaskPanels * kBitOutputs;
/// The tail's packs begin behind weights and border.
constexpr size_t kTailPacks = 2;

class BinaryProductKernel final : public CpuKernel, public WritesWindow {
 public:
  BinaryProductKernel(const BitProductFacts& facts, FloatForm form, bool has_scales,
                      ProductTail tail, int lanes)
      : CpuKernel(lanes),
        facts_(facts),
        form_(form),
        has_scales_(has_scales),
        tail_(std::move(tail)),
        rows_(tail_.ForRows(form, facts.product.outputs / facts.product.groups)),
        blob_(facts.product, facts.to_bits),
        counter_(facts.product, blob_, facts.geometry, facts.by_tables),
        factors_(FactorsOf(facts.product)),
        pitch_(facts.product.outputs) {}

  std::vector<PackRequest> packs() const override {
    const ops::BinaryProduct& p = facts_.product;
    std::string recipe =
        fmt::format("binary.panels8t.{}.c{}g{}.x{}_{}.{}{}", facts_.to_bits ? "bits" : "f32",
                    p.channels, p.groups, p.x_zero, p.x_one, p.x_unipolar, p.w_unipolar);
    std::vector<PackRequest> all = {
        {{facts_.w, facts_.results},
         recipe.append(counter_.arrangement()),
         blob_.bytes(),
         [p, counter = counter_](std::span<const Constant* const> constants, std::byte* out) {
           RETURN_IF_ERROR(PackBitWeights(p, *constants[0], *constants[1], out));
           counter.Arrange(out);
           return OkStatus();
         }},
        {{facts_.w},
         BorderRecipe(),
         BorderBytes(blob_, facts_.geometry),
         [p, geometry = facts_.geometry, in_spans = counter_.takes_spans(),
          has_starts = rows_.has_value(),
          form = form_](std::span<const Constant* const> constants, std::byte* out) {
           if (has_starts) return PackStarts(p, geometry, *constants[0], form, in_spans, out);
           return PackBorder(p, geometry, *constants[0], in_spans, out);
         }}};
    tail_.AppendPacks(all);
    return all;
  }

  std::vector<Alias> aliases() const override {
    return rows_ && pitch_ == facts_.product.outputs ? rows_->aliases() : std::vector<Alias>();
  }

  Status WriteApart(const WindowRows& rows) override {
    if (facts_.to_bits || facts_.tail.packs_bits()) return Unsupported("bits have no windows");
    if (!facts_.product.is_conv || rows.row != facts_.product.outputs)
      return Unsupported("rows are not the channels of a pixel");
    pitch_ = rows.pitch;
    return OkStatus();
  }

  Status Run(const CpuLaunch& args) const override {
    if (facts_.geometry.copies())
      facts_.geometry.Copy(args.inputs[0].host<uint64_t>(), args.At(image_));
    const int64_t task_pixels =
        counter_.takes_spans() ? facts_.geometry.SpanTaskPixels(kTaskPixels) : kTaskPixels;
    const int64_t pixel_tasks = (facts_.geometry.pixels() + task_pixels - 1) / task_pixels;
    const int64_t panel_tasks = (blob_.panels + kTaskPanels - 1) / kTaskPanels;
    const int64_t tasks = facts_.product.groups * panel_tasks * pixel_tasks;
    const RowTail::Steps steps = rows_ ? rows_->Bind(args, kTailPacks) : RowTail::Steps{};
    args.stream.ParallelFor(tasks, [&](int64_t i, int lane) {
      Task task{.rows = TaskRows(args.At(task_rows_, lane)), .steps = steps};
      task.first = i % pixel_tasks * task_pixels;
      task.pixels = std::min(task_pixels, facts_.geometry.pixels() - task.first);
      task.group = i / pixel_tasks / panel_tasks;
      task.panel = i / pixel_tasks % panel_tasks * kTaskPanels;
      task.panels = std::min(kTaskPanels, blob_.panels - task.panel);
      task.counted = args.At(counted_, lane);
      task.differ = args.At(differ_, lane);
      PlaceFloats(args, args.At(floats_, lane), task);
      RunTask(args, task);
    });
    return OkStatus();
  }

 private:
  struct Task {
    TaskRows rows;
    const RowTail::Steps& steps;  // of rows_
    int64_t first = 0, pixels = 0;
    int64_t group = 0, panel = 0, panels = 0;  // panel: of the group
    std::byte* counted = nullptr;              // the counter's scratch
    int32_t* differ = nullptr;                 // [pixel][panel][kBitOutputs]
    ProductTail::Block block;                  // where its floats go
  };

  std::string BorderRecipe() const {
    std::string taps;
    for (int64_t c = 0; c < facts_.geometry.classes(); ++c)
      taps +=
          fmt::format("|{}", fmt::join(facts_.geometry.Outside(c, counter_.takes_spans()), ","));
    const std::string_view of = !rows_ ? "border" : form_ == FloatForm::kOnes ? "ones" : "sums";
    return fmt::format("binary.{}.c{}g{}.{:016x}", of, facts_.product.channels,
                       facts_.product.groups, HashText(taps));
  }

  void PlaceFloats(const CpuLaunch& args, float* scratch, Task& task) const {
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
    block.stride = pitch_;
    block.floats =
        args.outputs[tail_.float_output()].host<float>() + task.first * block.stride + block.column;
  }

  void RunTask(const CpuLaunch& args, Task& task) const {
    const bool is_any = facts_.to_bits ? factors_.x_ones != 0 : form_ == FloatForm::kAny;
    const auto* image =
        facts_.geometry.copies() ? args.At(image_) : args.inputs[0].host<uint64_t>();
    const int64_t tile = counter_.TileOf(task.pixels);
    task.rows.Fill(facts_.product, facts_.geometry, image + task.group * blob_.words,
                   {.first = task.first,
                    .pixels = task.pixels,
                    .tile = tile,
                    .has_pairs = !rows_,
                    .counts_ones = is_any,
                    .in_spans = counter_.takes_spans()});
    BitCounter::Task count{.bases = task.rows.bases(),
                           .pixels = task.pixels,
                           .tile = tile,
                           .spans = task.rows.spans(),
                           .panel = PanelOf(task, 0),
                           .panels = task.panels,
                           .scratch = task.counted,
                           .differ = task.differ};
    if (rows_) {
      std::tie(count.beside, count.beside_stride) = rows_->Beside(args, task.block);
    }
    counter_.Count(args.packed[0].host<std::byte>(), count);
    if (rows_) return RunRows(args, task);
    for (int64_t panel = 0; panel < task.panels; ++panel)
      Store(args, task, panel, SumsOf(args, task, panel));
    if (!facts_.to_bits) tail_.Run(args, kTailPacks, task.block);
  }

  /// Of all, that of the task.
  int64_t PanelOf(const Task& task, int64_t panel) const {
    return task.group * blob_.panels + task.panel + panel;
  }

  /// `panel`: of the task.
  BitSums SumsOf(const CpuLaunch& args, const Task& task, int64_t panel) const {
    const int64_t at = PanelOf(task, panel);
    const auto* ones =
        reinterpret_cast<const int32_t*>(args.packed[0].host<std::byte>() + blob_.ones_offset());
    return {.pixels = task.pixels,
            .differ = task.differ + panel * kBitOutputs,
            .stride = task.panels * kBitOutputs,
            .classes = task.rows.classes(),
            .border = args.packed[1].host<int32_t>() + at * kBitOutputs,
            .border_stride = blob_.all_panels * kBitOutputs,
            .w_ones = ones + at * kBitOutputs,
            .x_ones = task.rows.ones(),
            .pairs = task.rows.pairs()};
  }

  BitStarts StartsOf(const CpuLaunch& args, const Task& task) const {
    return {.sums = args.packed[1].host<int32_t>() + PanelOf(task, 0) * kBitOutputs,
            .stride = blob_.all_panels * kBitOutputs,
            .classes = task.rows.classes(),
            .takes_two = form_ == FloatForm::kScaled};
  }

  /// Counts to floats, tail and bits in one go.
  void RunRows(const CpuLaunch& args, const Task& task) const {
    const auto* scales =
        reinterpret_cast<const float*>(args.packed[0].host<std::byte>() + blob_.scales_offset());
    rows_->Run(args, task.steps,
               {.pixels = task.pixels,
                .counts = task.differ,
                .stride = task.panels * kBitOutputs,
                .starts = StartsOf(args, task),
                .scales = has_scales_ ? scales + PanelOf(task, 0) * kBitOutputs : nullptr},
               task.block);
  }

  /// `panel`: of the task.
  void Store(const CpuLaunch& args, const Task& task, int64_t panel, const BitSums& sums) const {
    const auto* blob = args.packed[0].host<std::byte>();
    const int64_t at = PanelOf(task, panel);
    const std::byte* results = blob + blob_.results_offset() + at * blob_.panel_bytes;
    const int64_t column = panel * kBitOutputs;
    if (!facts_.to_bits) {
      StoreFloats(sums, *reinterpret_cast<const FloatPanel*>(results), form_,
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

  BitProductFacts facts_;
  FloatForm form_;   // where results are floats
  bool has_scales_;  // of their sums
  ProductTail tail_;
  std::optional<RowTail> rows_;
  BitBlob blob_;
  BitCounter counter_;
  LimitFactors factors_;
  int64_t pitch_;  // floats between the results of neighbouring pixels
  RunScratch<uint64_t> image_ = PerRun<uint64_t>(facts_.geometry.copy_words());
  LaneScratch<std::byte> task_rows_ = PerLane<std::byte>(TaskRows::kBytes);
  LaneScratch<std::byte> counted_ = PerLane<std::byte>(counter_.scratch_bytes());
  LaneScratch<int32_t> differ_ = PerLane<int32_t>(kTaskPixels * kTaskColumns);
  /// Those that no output takes, and what PackBits reads where that is something else.
  LaneScratch<float> floats_ =
      PerLane<float>(tail_.packs_bits() ? 2 * kTaskPixels * kTaskColumns : 0);
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const BitProductFacts& facts, const Params&,
                                                const Device& device) {
  ASSIGN_OR_RETURN(ProductTail tail,
                   ProductTail::Compile(*problem.group, facts.tail, problem.states));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  const Constant& results = *problem.group->value(facts.results).constant;
  const FloatForm form = facts.to_bits ? FloatForm::kAny : FormOf(facts.product, results);
  const bool has_scales = !facts.to_bits && !HasUnitScales(facts.product, results);
  return std::unique_ptr<PreparedKernel>(
      new BinaryProductKernel(facts, form, has_scales, std::move(tail), lanes));
}

constexpr Family<BitProductFacts> kFamily{
    .read = ReadProduct, .states = ProductStates, .prepare = Prepare, .taste = Always<10>};
constexpr Family<BitProductFacts> kTableFamily{
    .read = ReadForTables, .states = ProductStates, .prepare = Prepare, .taste = Always<11>};

}  // namespace

extern const KernelDesc kCpuBinaryProduct;
const KernelDesc kCpuBinaryProduct = {.name = "cpu.binary.product",
                                      .version = 7,
                                      .arithmetic = Arithmetic::kBits,
                                      .match = MatchAs<kFamily>};

extern const KernelDesc kCpuBinaryTables;
const KernelDesc kCpuBinaryTables = {.name = "cpu.binary.tables",
                                     .version = 3,
                                     .arithmetic = Arithmetic::kBits,
                                     .match = MatchAs<kTableFamily>};

}  // namespace fettle::kernels
