// compiled: small
// MatMul and Gemm. A constant B is packed at load, another one at each launch, unless so few rows
// meet it that it is read as it is. Both operands may be where the caller bound them.
//   cpu.matmul.gemm       row-major operands
//   cpu.matmul.gemm.nwc   A, a computed B, the product or several of them with the rows of each
//                         matrix innermost, as one-dimensional convolutions and transposes leave
//                         and take them
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/matmul/product_states.h"
#include "kernels/cpu/move/tile_transpose.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

/// Row tiles of one task; more where so many rows outgrow their share of the second-level cache.
constexpr int64_t kMaxTiles = 16, kMaxFarTiles = 37;

/// Rows and columns from which on a copy of A, whose rows share cache sets, costs less than it
/// gains.
constexpr int64_t kManyRows = 9, kManyColumns = 512;

/// Bytes of the second-level cache for the rows of a task.
int64_t RowShare(const CpuDevice& cpu) {
  return (cpu.info().l2_bytes > 0 ? cpu.info().l2_bytes : 256 * 1024) / 2;
}

Blocking UsualBlocking(const Product& p, int threads, const Device& device);

class MatMul final : public CpuKernel, public MovesToExtents<MatMul> {
 public:
  MatMul(const Problem& problem, ProductForm form, Epilogue epilogue, const Blocking& blocking,
         const CpuDevice& cpu)
      : CpuKernel(problem.threads),
        p_(std::move(form.product)),
        transposed_c_(form.transposed_c),
        a_(InputIndex(problem, p_.a)),
        b_(p_.constant_b ? 0 : InputIndex(problem, p_.b)),
        kernels_(&GetMicroKernels()),
        epilogue_(std::move(epilogue)),
        blocking_(blocking) {
    const bool shared_sets = ShareCacheSets(p_.k);
    copies_a_ = p_.trans_a || (shared_sets && p_.m >= kManyRows && p_.n >= kManyColumns);
    a_stride_ = copies_a_ && shared_sets ? p_.k + kPadding : p_.k;
    for (const Product::Batch& batch : p_.batches) a_matrices_ = std::max(a_matrices_, batch.a + 1);
    direct_b_ = ReadsAsItIs(p_);
    packs_end_ = direct_b_ && problem.states.inputs[b_].external && EndsWithinVector(p_);
    if (p_.addend != ir::kAbsent && !p_.constant_row) addend_ = InputIndex(problem, p_.addend);
    // Tasks stay within one matrix.
    tiles_ = RowTiles(kernels_->mr, std::max<int64_t>(p_.m, 1));
    blocking_.rows = std::min(blocking_.rows, tiles_.count() * kernels_->mr);
    far_rows_ = blocking_.rows * p_.k * 4 > RowShare(cpu);
    if (!p_.constant_b && !direct_b_) packed_ = PerRun<float>(p_.b_matrices * MatrixElements());
    if (copies_a_) copy_ = PerRun<float>(a_matrices_ * p_.m * a_stride_);
    pointers_ = PerLane<const float*>(blocking_.rows);
    if (transposed_c_) result_ = PerLane<float>(blocking_.rows * blocking_.panels * kernels_->nr);
    if (packs_end_) end_ = PerLane<float>(p_.k * kernels_->nr);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all;
    if (p_.constant_b) {
      PackRequest request;
      request.constants = {p_.b};
      if (p_.constant_row) request.constants.push_back(p_.addend);
      request.recipe = fmt::format("matmul.t{}.nr{}.a{}.b{}.f32", p_.trans_b, kernels_->nr,
                                   p_.alpha, p_.constant_row ? p_.beta : 0);
      request.bytes = (p_.b_matrices * MatrixElements() + Panels() * kernels_->nr) * 4;
      request.pack = [p = p_, nr = kernels_->nr](std::span<const Constant* const> constants,
                                                 std::byte* out) {
        const WeightShape shape{
            .groups = p.b_matrices, .oc = p.n, .ic = p.k, .transposed = !p.trans_b};
        auto* panels = reinterpret_cast<float*>(out);
        PackWeights(*constants[0], shape, nr, p.alpha, panels);
        PackBias(constants.size() > 1 ? constants[1] : nullptr, 0, p.n, shape.panels(nr) * nr,
                 p.beta, panels + p.b_matrices * shape.group_elements(nr));
        return OkStatus();
      };
      all.push_back(std::move(request));
    }
    epilogue_.AppendPacks(all);
    return all;
  }

  bool MoveTo(const Problem& problem, const Device& device) override {
    const Shape& a = problem.shape(p_.a);
    if (p_.trans_a || transposed_c_ || (p_.addend != ir::kAbsent && !p_.constant_row) ||
        a.elements() == 0 ||
        !(p_.constant_b ? TakeRows(p_, a) : TakeMatrices(p_, a_matrices_, problem)))
      return false;
    if (!epilogue_.TakeRows(std::ssize(p_.batches) * p_.m, p_.n) &&
        !epilogue_.TakeElements(problem.shape(problem.group->outputs[0])))
      return false;
    const Blocking usual = UsualBlocking(p_, problem.threads, device);
    *this = MatMul(problem, {std::move(p_), false}, std::move(epilogue_),
                   ReadBlocking({}, usual, kernels_->mr, kMaxFarTiles),
                   static_cast<const CpuDevice&>(device));
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    if (p_.m == 0 || p_.n == 0) return OkStatus();
    if (!p_.constant_b && !direct_b_) PackOperand(args);
    if (copies_a_) CopyA(args);
    const elementwise::Binding binding = epilogue_.Bind(args, p_.constant_b ? 1 : 0);
    const TileGrid grid(std::ssize(p_.batches), tiles_, blocking_.rows / kernels_->mr, Panels(),
                        blocking_.panels);
    args.stream.ParallelFor(grid.count(), [&](int64_t task, int lane) {
      RunTask(args, binding, BlockOf(grid.At(task)), lane);
    });
    return OkStatus();
  }

 private:
  /// A rectangle of one output matrix.
  struct Block : TileGrid::Task {
    int64_t column, columns;
  };
  Block BlockOf(const TileGrid::Task& task) const {
    const int64_t column = task.panel * kernels_->nr;
    return {task, column, std::min(task.panel_end * kernels_->nr, p_.n) - column};
  }

  static size_t InputIndex(const Problem& problem, ir::ValueId id) {
    return IndexOf(problem.group->inputs, id);
  }
  int64_t Panels() const { return CeilDiv(p_.n, kernels_->nr); }
  int64_t MatrixElements() const { return Panels() * kernels_->nr * p_.k; }

  void PackOperand(const CpuLaunch& args) const {
    const auto* b = args.inputs[b_].host<float>();
    float* packed = args.At(packed_);
    args.stream.ParallelFor(p_.b_matrices * Panels(), [&](int64_t task, int) {
      const int64_t matrix = task / Panels(), column = task % Panels() * kernels_->nr;
      const int64_t row_stride = p_.trans_b ? 1 : p_.n, column_stride = p_.trans_b ? p_.k : 1;
      const StridedMatrix source{b + matrix * p_.k * p_.n + column * column_stride, row_stride,
                                 column_stride};
      PackPanel(source, p_.k, std::min<int64_t>(kernels_->nr, p_.n - column), kernels_->nr,
                p_.alpha, packed + matrix * MatrixElements() + column * p_.k);
    });
  }

  void CopyA(const CpuLaunch& args) const {
    constexpr int64_t kRows = 16;
    const auto* a = args.inputs[a_].host<float>();
    const int64_t tasks = CeilDiv(p_.m, kRows);
    args.stream.ParallelFor(a_matrices_ * tasks, [&](int64_t task, int) {
      const int64_t matrix = task / tasks, row = task % tasks * kRows;
      const float* first = a + matrix * p_.m * p_.k;
      const StridedMatrix source = p_.trans_a ? StridedMatrix{first + row, 1, p_.m}
                                              : StridedMatrix{first + row * p_.k, p_.k};
      CopyRows(source, std::min(kRows, p_.m - row), p_.k, a_stride_,
               args.At(copy_) + (matrix * p_.m + row) * a_stride_);
    });
  }

  /// The rows of A: a copy where it is transposed, or where they would share cache sets.
  EvenRows RowsOfA(const CpuLaunch& args, const Block& block) const {
    const float* a = copies_a_ ? args.At(copy_) : args.inputs[a_].host<float>();
    return {a + (p_.batches[block.product].a * p_.m + block.row) * a_stride_, a_stride_};
  }

  /// Gemm's addend; it has no transposed form.
  void CopyAddend(const CpuLaunch& args, const Block& block, float* c) const {
    const float* from = args.inputs[addend_].host<float>() + block.row * p_.addend_row_stride +
                        block.column * p_.addend_column_stride;
    for (int64_t r = 0; r < block.rows; ++r, c += p_.n, from += p_.addend_row_stride) {
      for (int64_t i = 0; i < block.columns; ++i)
        c[i] = p_.beta * from[i * p_.addend_column_stride];
    }
  }

  float* BlockOfC(const CpuLaunch& args, const Block& block, int lane) const {
    if (transposed_c_) return args.At(result_, lane);
    return args.outputs[0].host<float>() + (block.product * p_.m + block.row) * p_.n + block.column;
  }

  /// Writes a block, rows innermost.
  void StoreTransposed(const CpuLaunch& args, const Block& block, const float* c) const {
    float* out =
        args.outputs[0].host<float>() + (block.product * p_.n + block.column) * p_.m + block.row;
    TransposeMatrix(c, block.columns, out, p_.m, block.rows, block.columns);
  }

  /// `work` with B in its own order. Behind a caller's nothing may be read, as whole vectors would:
  /// the panel at its end is packed where it ends within one.
  void RunAsItIs(const CpuLaunch& args, const Block& block, BlockArgs work, int lane) const {
    const int64_t matrix = p_.batches[block.product].b;
    const int64_t behind = (p_.b_matrices - matrix - 1) * p_.k * p_.n;
    const bool at_end = block.column + block.columns == p_.n && behind < kernels_->nr;
    const int64_t end = packs_end_ && at_end ? p_.n % kernels_->nr : 0;
    work.b = args.inputs[b_].host<float>() + matrix * p_.k * p_.n + block.column;
    work.b_step = p_.n;
    work.columns -= end;
    if (work.columns > 0) RunBlock(*kernels_, work);
    if (end == 0) return;
    float* panel = args.At(end_, lane);
    PackPanel({work.b + work.columns, p_.n}, p_.k, end, kernels_->nr, 1, panel);
    TileSpan tiles[kMaxFarTiles];
    std::ranges::copy(work.tiles, tiles);
    for (size_t i = 0; i < work.tiles.size(); ++i) tiles[i].c += work.columns;
    if (work.addend != nullptr) work.addend += work.columns;
    work.tiles = {tiles, work.tiles.size()};
    work.b = panel;
    work.b_step = 0;
    work.columns = end;
    RunBlock(*kernels_, work);
  }

  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding, const Block& block,
               int lane) const {
    BlockArgs work;
    work.depth = p_.k;
    work.c_stride = transposed_c_ ? block.columns : p_.n;
    work.columns = block.columns;
    work.low = epilogue_.clamp().low;
    work.high = epilogue_.clamp().high;
    work.depth_block = blocking_.depth_block;
    work.far_rows = far_rows_;
    float* c = BlockOfC(args, block, lane);
    if (epilogue_.addend() >= 0)
      work.addend =
          args.inputs[epilogue_.addend()].host<float>() + (c - args.outputs[0].host<float>());
    TileSpan tiles[kMaxFarTiles];
    work.tiles = CutTiles(tiles_, block.first_tile, block.end_tile, RowsOfA(args, block), c,
                          work.c_stride, args.At(pointers_, lane), tiles);
    if (p_.addend != ir::kAbsent && !p_.constant_row) {
      CopyAddend(args, block, c);
      work.accumulate = true;
    }
    if (direct_b_) {
      RunAsItIs(args, block, work, lane);
    } else {
      const float* panels = p_.constant_b ? args.packed[0].host<float>() : args.At(packed_);
      work.b = panels + p_.batches[block.product].b * MatrixElements() + block.column * p_.k;
      if (p_.constant_row) work.bias = panels + p_.b_matrices * MatrixElements() + block.column;
      RunBlock(*kernels_, work);
    }
    if (transposed_c_) return StoreTransposed(args, block, c);
    elementwise::Tile tile{.row = block.product * p_.m + block.row, .rows = block.rows};
    tile.col = block.column;
    tile.cols = block.columns;
    tile.running = c;
    tile.running_stride = p_.n;
    epilogue_.Run(binding, tile);
  }

  Product p_;
  bool transposed_c_;
  size_t a_, b_, addend_ = 0;
  const MicroKernels* kernels_;
  Epilogue epilogue_;
  Blocking blocking_;
  RowTiles tiles_;
  bool direct_b_ = false, packs_end_ = false, copies_a_ = false, far_rows_ = false;
  int64_t a_stride_ = 0, a_matrices_ = 0;
  RunScratch<float> packed_, copy_;  // B, and A
  LaneScratch<const float*> pointers_;
  LaneScratch<float> result_;  // a block of the product before it is transposed
  LaneScratch<float> end_;     // the last panel of B
};

Blocking UsualBlocking(const Product& p, int threads, const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  const MicroKernels& kernels = GetMicroKernels();
  Blocking blocking =
      ChooseBlocking(cpu.info(), kernels.mr, kernels.nr, p.m, p.n, p.k, 1, kMaxTiles * kernels.mr);
  // Where neither stays in the second-level cache, the next one brings rows as fast as they are
  // multiplied, and a new panel of B costs more: it meets many rows (docs/laboratory/cpu.md).
  const int64_t depth = std::min(p.k, blocking.depth_block);
  if (kMaxTiles * kernels.mr * depth * 4 > RowShare(cpu) && p.n * p.k * 4 > 2 * RowShare(cpu)) {
    const int64_t tiles = CeilDiv(std::max<int64_t>(p.m, 1), kernels.mr);
    blocking.rows = CeilDiv(tiles, CeilDiv(tiles, kMaxFarTiles)) * kernels.mr;
  }
  // Short sums take as long as their results take to be written: rows of those, from end to end.
  if (p.k <= 32 && p.n >= 8 * kernels.nr && p.n * p.k * 4 <= RowShare(cpu))
    blocking.rows = 4 * kernels.mr;
  // Lanes share the columns: each part of B is read by one of them, and once.
  const int64_t row_tasks = CeilDiv(std::max<int64_t>(p.m, 1), blocking.rows);
  const int64_t all_panels = std::max<int64_t>(1, blocking.panels);
  const int64_t shared =
      SplitPanels(all_panels, std::max<int64_t>(1, std::ssize(p.batches)) * row_tasks, threads);
  // An epilogue finds a task's results in the second-level cache.
  constexpr int64_t kResultBytes = 256 * 1024;
  const int64_t cached = kResultBytes / (blocking.rows * kernels.nr * 4);
  const int64_t column_tasks = CeilDiv(all_panels, std::clamp<int64_t>(cached, 1, shared));
  // No lane has one task of columns more than another.
  blocking.panels = CeilDiv(all_panels, column_tasks > 1 ? RoundUp(column_tasks, threads) : 1);
  if (threads > 1 && p.m > 0 && p.n > 0 && p.batches.size() <= 1)
    BalanceRows(blocking, kernels.nr, p.m, p.n, p.k, threads);
  return blocking;
}

ParamSpace Space(const Problem& problem, const Product& product, const Device& device) {
  const Product p = FormIn(problem, product).product;
  const MicroKernels& kernels = GetMicroKernels();
  const Blocking usual = UsualBlocking(p, problem.threads, device);
  return {BlockingTunables(usual, kernels.mr, kMaxFarTiles, CeilDiv(p.n, kernels.nr)),
          BlockingParams(usual, kernels.mr),
          {}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Product& product,
                                                const Params& params, const Device& device) {
  ProductForm form = FormIn(problem, product);
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  const Blocking blocking =
      ReadBlocking(params, UsualBlocking(form.product, problem.threads, device),
                   GetMicroKernels().mr, kMaxFarTiles);
  return std::unique_ptr<PreparedKernel>(new MatMul(problem, std::move(form), std::move(epilogue),
                                                    blocking,
                                                    static_cast<const CpuDevice&>(device)));
}

constexpr Family<Product> kFamily{.read = ReadRowMajorProduct,
                                  .states = RowMajorProductStates,
                                  .prepare = Prepare,
                                  .params = Space,
                                  .taste = Always<10>,
                                  .takes_near_extents = true};
constexpr Family<Product> kNwcFamily{.read = ReadMatrixList,
                                     .states = MatrixListStates,
                                     .prepare = Prepare,
                                     .params = Space,
                                     .taste = Always<8>};

}  // namespace

extern const KernelDesc kCpuMatMulGemm;
const KernelDesc kCpuMatMulGemm = {.name = "cpu.matmul.gemm", .match = MatchAs<kFamily>};

extern const KernelDesc kCpuMatMulGemmNwc;
const KernelDesc kCpuMatMulGemmNwc = {.name = "cpu.matmul.gemm.nwc", .match = MatchAs<kNwcFamily>};

}  // namespace fettle::kernels
