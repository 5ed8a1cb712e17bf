// Products whose constant right operand stays packed in 16 bits an element: where reading it is
// what takes time, half of the bytes are half of it. Slices of a panel become floats in the
// first-level cache, where the fp32 micro-kernels multiply them; activations and sums are f32.
//   cpu.f16_weights.gemm    weights that are exact in f16: results are those of f32
//   cpu.bf16_weights.gemm   any weights, rounded to bf16: for processors without products of bf16
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/half_weights/panels.h"
#include "kernels/cpu/half_weights/rows.h"
#include "kernels/family.h"
#include "kernels/match/product.h"
#include "tensor/compact_floats.h"

namespace fettle::kernels {
namespace {

Result<Product> ReadRows(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const Product p, ReadRowsByConstant(group));
  if (p.m == 0 || p.n == 0 || p.k == 0) return Unsupported("an empty operand");
  if (p.alpha != 1) return Unsupported("weights times a factor");
  return p;
}

/// What their form tells, without reading them.
bool AreHalves(const Constant& weights) {
  return weights.dtype() == DType::kF16 || CompactFormOf(weights) == CompactForm::kHalves;
}

Result<Product> ReadExact(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const Product p, ReadRows(group));
  if (!AreHalves(*group.value(p.b).constant)) return Unsupported("weights that are not f16");
  return p;
}

Result<Product> ReadRounded(const ir::Graph& group, const Device&) { return ReadRows(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Product&, const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 16;
/// Rows of a panel that become floats at a time: they stay in the first-level cache.
constexpr int64_t kSlice = 256;
/// Rows up to which A is read where it is.
constexpr int64_t kFewRows = 8;

class HalfWeightsGemm final : public CpuKernel {
 public:
  HalfWeightsGemm(const Problem& problem, const Product& product, DType storage, Epilogue epilogue)
      : CpuKernel(problem.threads),
        p_(product),
        a_(IndexOf(problem.group->inputs, product.a)),
        kernels_(GetMicroKernels()),
        half_kernels_(GetHalfKernels(storage)),
        panels_{storage, kernels_.nr, p_.n, p_.k, p_.trans_b},
        epilogue_(std::move(epilogue)),
        tiles_(kernels_.mr, p_.m),
        copies_a_(p_.m > kFewRows && ShareCacheSets(p_.k)),
        a_stride_(copies_a_ ? p_.k + kPadding : p_.k) {
    // Four tasks a lane even out what lanes lose.
    const int64_t row_tasks = CeilDiv(tiles_.count(), kMaxTiles);
    task_panels_ = problem.threads == 1
                       ? panels_.count()
                       : CeilDiv(panels_.count() * row_tasks, int64_t{4} * problem.threads);
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
          if (p_.m <= kMostHalfRows) {
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
      for (int64_t k = 0; k < p_.k; k += kSlice) {
        work.a_offset = k;
        work.depth = std::min(kSlice, p_.k - k);
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
    HalfRowsArgs work;
    work.a = args.inputs[a_].host<float>();
    work.a_stride = work.depth = p_.k;
    work.c_stride = p_.n;
    work.low = epilogue_.clamp().low;
    work.high = epilogue_.clamp().high;
    for (int64_t panel = block.first_panel; panel < block.end_panel; ++panel) {
      const int64_t column = panel * panels_.nr;
      work.b = panels_.At(weights, panel, 0);
      work.c = args.outputs[0].host<float>() + column;
      work.columns = std::min<int64_t>(panels_.nr, p_.n - column);
      if (p_.constant_row)
        work.bias = reinterpret_cast<const float*>(weights + panels_.bytes()) + column;
      work.addend = AddendOver(args, work.c);
      half_kernels_.rows[p_.m](work);
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
  LaneScratch<float> slice_ = PerLane<float>(kSlice * panels_.nr);
};

template <DType kStorage>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Product& product,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(
      new HalfWeightsGemm(problem, product, kStorage, std::move(epilogue)));
}

constexpr int kFaster = 12, kUnknown = 3;

/// Of few rows and weights that no second-level cache holds, reading these is all that takes time.
/// With more rows it depends on the processor, and on the memory that is saved.
int TasteOf(const Product& p, const Device& device) {
  const int64_t l2 = static_cast<const CpuDevice&>(device).info().l2_bytes;
  return p.m <= kMostHalfRows && p.n * p.k * int64_t{4} > l2 ? kFaster : kUnknown;
}

Work WorkOf(const Problem&, const Product& p, const Params&, const Device&) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  return {.operations = 2 * m * n * k, .bytes = 2 * n * k + 4 * m * (n + k)};
}

constexpr Family<Product> kExact{.read = ReadExact,
                                 .states = States,
                                 .prepare = Prepare<DType::kF16>,
                                 .taste = TasteOf,
                                 .work = WorkOf};
constexpr Family<Product> kRounded{.read = ReadRounded,
                                   .states = States,
                                   .prepare = Prepare<DType::kBF16>,
                                   .taste = TasteOf,
                                   .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuF16WeightsGemm;
const KernelDesc kCpuF16WeightsGemm = {.name = "cpu.f16_weights.gemm", .match = MatchAs<kExact>};

extern const KernelDesc kCpuBf16WeightsGemm;
const KernelDesc kCpuBf16WeightsGemm = {
    .name = "cpu.bf16_weights.gemm", .arithmetic = Arithmetic::kBF16, .match = MatchAs<kRounded>};

}  // namespace fettle::kernels
