// compiled: small
// Products whose constant right operand stays packed in 16 bits an element: where reading it is
// what takes time, half of the bytes are half of it. Slices of a panel become floats in the
// first-level cache, where the fp32 micro-kernels multiply them; activations and sums are f32.
//   cpu.f16_weights.gemm    weights that are exact in f16: results are those of f32
//   cpu.half_weights.bf16   weights that the file has in bf16: the same
//   cpu.bf16_weights.gemm   any weights, rounded to bf16: for processors without products of bf16
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/task_grid.h"
#include "kernels/cpu/half_weights/panels.h"
#include "kernels/cpu/half_weights/rows.h"
#include "kernels/family.h"
#include "kernels/match/product.h"
#include "tensor/compact_floats.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

Result<Product> ReadRows(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const Product p, ReadRowsByConstant(group));
  if (p.m == 0 || p.n == 0 || p.k == 0) return Unsupported("an empty operand");
  if (p.alpha != 1) return Unsupported("weights times a factor");
  return p;
}

/// What a product keeps of its weights.
struct HalfProduct {
  Product p;
  DType storage = DType::kBF16;
  bool stored = false;  // so the file has them
};

/// What the weights' form tells, without reading them.
Result<HalfProduct> ReadExact(const ir::Graph& group, DType storage) {
  ASSIGN_OR_RETURN(const Product p, ReadRows(group));
  const Constant& weights = *group.value(p.b).constant;
  const bool stored = !SixteenBitBytes(weights, !p.trans_b).empty();
  const bool compact = storage == DType::kF16 && CompactFormOf(weights) == CompactForm::kHalves;
  if (SixteenBitsOf(weights) != storage && !compact)
    return Unsupported("weights that are not {}", DTypeName(storage));
  return HalfProduct{p, storage, stored};
}
Result<HalfProduct> ReadF16(const ir::Graph& group, const Device&) {
  return ReadExact(group, DType::kF16);
}
Result<HalfProduct> ReadBf16(const ir::Graph& group, const Device&) {
  return ReadExact(group, DType::kBF16);
}

Result<HalfProduct> ReadRounded(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const Product p, ReadRows(group));
  return HalfProduct{p};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const HalfProduct&,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 16;
/// Rows of A up to which panels are multiplied as they are read.
constexpr int64_t kMostDirect = 16;

class HalfWeightsGemm final : public CpuKernel {
 public:
  HalfWeightsGemm(const Problem& problem, const HalfProduct& product, Epilogue epilogue)
      : CpuKernel(problem.threads),
        p_(product.p),
        a_(IndexOf(problem.group->inputs, p_.a)),
        kernels_(GetMicroKernels()),
        half_kernels_(GetHalfKernels(product.storage)),
        panels_{product.storage, kernels_.nr, p_.n, p_.k, p_.trans_b},
        epilogue_(std::move(epilogue)),
        tiles_(kernels_.mr, p_.m),
        copies_a_(p_.m > kMostDirect && ShareCacheSets(p_.k)),
        a_stride_(copies_a_ ? p_.k + kPadding : p_.k) {
    // Four tasks a lane even out what lanes lose.
    const int64_t row_tasks = CeilDiv(tiles_.count(), kMaxTiles);
    task_panels_ = problem.threads == 1
                       ? panels_.count()
                       : CeilDiv(panels_.count() * row_tasks, int64_t{4} * problem.threads);
    if (p_.m == 1) task_panels_ = RoundUp(task_panels_, 2);  // two are read at once
  }

  std::vector<PackRequest> packs() const override {
    PackRequest request;
    request.constants = {p_.b};
    if (p_.constant_row) request.constants.push_back(p_.addend);
    request.recipe = fmt::format("half_weights.{}.t{}.nr{}.b{}", DTypeName(panels_.storage),
                                 p_.trans_b, panels_.nr, p_.constant_row ? p_.beta : 0);
    request.bytes = panels_.bytes() + panels_.count() * panels_.nr * 4;
    request.pack = [panels = panels_, beta = p_.beta](std::span<const Constant* const> constants,
                                                      std::byte* out) {
      PackHalfPanels(panels, *constants[0], out);
      PackBias(constants.size() > 1 ? constants[1] : nullptr, 0, panels.n,
               panels.count() * panels.nr, beta, reinterpret_cast<float*>(out + panels.bytes()));
      return OkStatus();
    };
    std::vector<PackRequest> all{std::move(request)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    if (copies_a_) CopyA(args);
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t column_tasks = CeilDiv(panels_.count(), task_panels_);
    args.stream.ParallelFor(
        column_tasks * CeilDiv(tiles_.count(), kMaxTiles), [&](int64_t task, int lane) {
          Block block;
          block.first_tile = task / column_tasks * kMaxTiles;
          block.end_tile = std::min(block.first_tile + kMaxTiles, tiles_.count());
          block.first_panel = task % column_tasks * task_panels_;
          block.end_panel = std::min(block.first_panel + task_panels_, panels_.count());
          if (p_.m <= kMostDirect) {
            RunRows(args, block);
          } else {
            RunTask(args, block, lane);
          }
          const int64_t row = tiles_.Begin(block.first_tile);
          elementwise::Tile tile{.row = row, .rows = tiles_.Begin(block.end_tile) - row};
          tile.col = block.first_panel * panels_.nr;
          tile.cols = std::min(block.end_panel * panels_.nr, p_.n) - tile.col;
          tile.running = args.outputs[0].host<float>() + row * p_.n + tile.col;
          tile.running_stride = p_.n;
          epilogue_.Run(binding, tile);
        });
    return OkStatus();
  }

 private:
  /// A rectangle of the output.
  struct Block {
    int64_t first_tile, end_tile, first_panel, end_panel;
  };

  /// Rows that would share a few sets of the first-level cache lie a line further apart.
  void CopyA(const CpuLaunch& args) const {
    constexpr int64_t kRows = 16;
    args.stream.ParallelFor(CeilDiv(p_.m, kRows), [&](int64_t task, int) {
      const int64_t row = task * kRows;
      CopyRows({args.inputs[a_].host<float>() + row * p_.k, p_.k}, std::min(kRows, p_.m - row),
               p_.k, a_stride_, args.At(copy_) + row * a_stride_);
    });
  }

  void RunTask(const CpuLaunch& args, const Block& block, int lane) const {
    float* slice = args.At(slice_, lane);
    const int64_t row = tiles_.Begin(block.first_tile);
    const float* a = copies_a_ ? args.At(copy_) : args.inputs[a_].host<float>();
    const auto* weights = args.packed[0].host<std::byte>();
    const auto* bias = reinterpret_cast<const float*>(weights + panels_.bytes());
    TileSpan tiles[kMaxTiles];
    for (int64_t panel = block.first_panel; panel < block.end_panel; ++panel) {
      BlockArgs work;
      const int64_t column = panel * panels_.nr;
      float* c = args.outputs[0].host<float>() + row * p_.n + column;
      work.tiles =
          CutTiles(tiles_, block.first_tile, block.end_tile, {a + row * a_stride_, a_stride_}, c,
                   p_.n, args.At(pointers_, lane), tiles);
      work.b = slice;
      work.c_stride = p_.n;
      work.columns = std::min<int64_t>(panels_.nr, p_.n - column);
      if (p_.constant_row) work.bias = bias + column;
      for (int64_t k = 0; k < p_.k; k += kHalfSlice) {
        work.a_offset = k;
        work.depth = std::min(kHalfSlice, p_.k - k);
        work.accumulate = k > 0;
        if (k + work.depth == p_.k) {
          work.low = epilogue_.clamp().low;
          work.high = epilogue_.clamp().high;
          work.addend = AddendOver(args, c);
        }
        const std::byte* from = panels_.At(weights, panel, k);
        half_kernels_.widen(from, work.depth * panels_.nr, slice);
        // Behind the panel lies the next one.
        work.ahead = reinterpret_cast<const float*>(from + work.depth * panels_.row_bytes());
        work.ahead_step = panels_.row_bytes() / static_cast<int64_t>(sizeof(float));
        RunBlock(kernels_, work);
      }
    }
  }

  /// All rows, which are few, with the block's panels.
  void RunRows(const CpuLaunch& args, const Block& block) const {
    const auto* weights = args.packed[0].host<std::byte>();
    const EvenParts parts(p_.m, half_kernels_.most_rows);
    const int64_t step = p_.m == 1 ? 2 : 1;
    HalfRowsArgs work;
    work.a_stride = work.depth = p_.k;
    work.c_stride = p_.n;
    work.low = epilogue_.clamp().low;
    work.high = epilogue_.clamp().high;
    for (int64_t panel = block.first_panel; panel < block.end_panel; panel += step) {
      const int64_t column = panel * panels_.nr;
      work.b = panels_.At(weights, panel, 0);
      work.columns = std::min(std::min(panel + step, block.end_panel) * panels_.nr, p_.n) - column;
      if (p_.constant_row)
        work.bias = reinterpret_cast<const float*>(weights + panels_.bytes()) + column;
      for (int64_t i = 0; i < parts.count(); ++i) {
        const int64_t row = parts.Begin(i);
        work.rows = parts.Begin(i + 1) - row;
        work.a = args.inputs[a_].host<float>() + row * p_.k;
        work.c = args.outputs[0].host<float>() + row * p_.n + column;
        work.addend = AddendOver(args, work.c);
        half_kernels_.rows[work.rows](work);
      }
    }
  }

  /// What is added to the result at `c`; or null.
  const float* AddendOver(const CpuLaunch& args, const float* c) const {
    if (epilogue_.addend() < 0) return nullptr;
    return args.inputs[epilogue_.addend()].host<float>() + (c - args.outputs[0].host<float>());
  }

  Product p_;
  size_t a_;
  const MicroKernels& kernels_;
  const HalfKernels& half_kernels_;
  HalfPanels panels_;
  Epilogue epilogue_;
  RowTiles tiles_;
  bool copies_a_;
  int64_t a_stride_, task_panels_ = 1;
  RunScratch<float> copy_ = PerRun<float>(copies_a_ ? p_.m * a_stride_ : 0);
  LaneScratch<const float*> pointers_ = PerLane<const float*>(kMaxTiles * kernels_.mr);
  LaneScratch<float> slice_ = PerLane<float>(kHalfSlice * panels_.nr);
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const HalfProduct& product,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(
      new HalfWeightsGemm(problem, product, std::move(epilogue)));
}

constexpr int kFaster = 12, kUnknown = 3;

/// Rows up to which reading weights that no second-level cache holds is all that takes time. With
/// more it depends on the processor, and on the memory that is saved: weights that the file has in
/// 16 bits stay so, or panels for few rows would lie beside others for many.
constexpr int64_t kBoundByMemory = 4;

int TasteOf(const HalfProduct& product, const Device& device) {
  const Product& p = product.p;
  const int64_t l2 = static_cast<const CpuDevice&>(device).info().l2_bytes;
  const bool few = p.m <= kBoundByMemory && p.n * p.k * int64_t{4} > l2;
  return few || product.stored ? kFaster : kUnknown;
}

Work WorkOf(const Problem&, const HalfProduct& product, const Params&, const Device&) {
  const Product& p = product.p;
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  return {.operations = 2 * m * n * k, .bytes = 2 * n * k + 4 * m * (n + k)};
}

template <auto kRead>
constexpr Family<HalfProduct> kFamily{
    .read = kRead, .states = States, .prepare = Prepare, .taste = TasteOf, .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuF16WeightsGemm;
const KernelDesc kCpuF16WeightsGemm = {
    .name = "cpu.f16_weights.gemm", .version = 2, .match = MatchAs<kFamily<ReadF16>>};

extern const KernelDesc kCpuHalfWeightsBf16;
const KernelDesc kCpuHalfWeightsBf16 = {.name = "cpu.half_weights.bf16",
                                        .match = MatchAs<kFamily<ReadBf16>>};

extern const KernelDesc kCpuBf16WeightsGemm;
const KernelDesc kCpuBf16WeightsGemm = {.name = "cpu.bf16_weights.gemm",
                                        .version = 2,
                                        .arithmetic = Arithmetic::kBF16,
                                        .match = MatchAs<kFamily<ReadRounded>>};

}  // namespace fettle::kernels
