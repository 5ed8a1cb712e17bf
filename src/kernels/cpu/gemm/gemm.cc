#include "kernels/cpu/gemm/gemm.h"

#include <algorithm>

#include "base/subnormals.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/product/tasks.h"
#include "tensor/tensor.h"

namespace fettle::kernels {
namespace {

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 16;

/// The nest of Goto and van de Geijn (2008): B in blocks of depth x columns shared by all lanes, A
/// in blocks of rows x depth per task.
struct Plan {
  int64_t rows, depth, columns;

  Plan(const CpuInfo& info, const MicroKernels& kernels, int64_t m, int64_t n, int64_t k) {
    const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 256 * 1024;
    depth = std::min<int64_t>(k, 512);
    columns = std::min(RoundUp(n, kernels.nr), RoundUp(4096, kernels.nr));
    rows = std::clamp<int64_t>(l2 / 2 / (4 * std::max<int64_t>(depth, 1)) / kernels.mr * kernels.mr,
                               kernels.mr, kMaxTiles * kernels.mr);
    rows = std::min(rows, RoundUp(m, kernels.mr));
  }
  int64_t b_bytes() const { return RoundUp(columns * depth * 4, 64); }
  int64_t a_stride() const { return depth + kPadding; }
  int64_t lane_bytes() const {
    return RoundUp(rows * a_stride() * 4, 64) +
           RoundUp(rows * static_cast<int64_t>(sizeof(float*)), 64);
  }
};

bool MustCopyRows(const GemmArgs& args) { return args.transpose_a || ShareCacheSets(args.lda); }

void Scale(float* c, int64_t ldc, int64_t rows, int64_t columns, float beta) {
  if (beta == 1) return;
  for (int64_t r = 0; r < rows; ++r) {
    float* row = c + r * ldc;
    for (int64_t i = 0; i < columns; ++i) row[i] = beta == 0 ? 0 : beta * row[i];
  }
}

/// One block of B: its position and where it is packed.
struct BlockOfB {
  int64_t n0, columns, k0, depth;
  float* packed;
};

void PackB(const MicroKernels& kernels, const GemmArgs& args, const BlockOfB& block,
           CpuStream& stream) {
  const int64_t row_stride = args.transpose_b ? 1 : args.ldb;
  const int64_t column_stride = args.transpose_b ? args.ldb : 1;
  stream.ParallelFor(CeilDiv(block.columns, kernels.nr), [&](int64_t panel, int) {
    const int64_t n = panel * kernels.nr;
    const StridedMatrix source{args.b + block.k0 * row_stride + (block.n0 + n) * column_stride,
                               row_stride, column_stride};
    PackPanel(source, block.depth, std::min<int64_t>(kernels.nr, block.columns - n), kernels.nr,
              args.alpha, block.packed + n * block.depth);
  });
}

/// Row tiles [begin, end) of all.
struct TilesOfA {
  const RowTiles& all;
  int64_t begin, end;
};

void RunTask(const MicroKernels& kernels, const GemmArgs& args, const Plan& plan,
             const BlockOfB& block, const TilesOfA& of_a, int64_t first_panel, int64_t panels,
             std::byte* scratch) {
  const int64_t m0 = of_a.all.Begin(of_a.begin), rows = of_a.all.Begin(of_a.end) - m0;
  auto* copy = reinterpret_cast<float*>(scratch);
  auto* pointers =
      reinterpret_cast<const float**>(scratch + RoundUp(plan.rows * plan.a_stride() * 4, 64));
  EvenRows a{args.a + m0 * args.lda + block.k0, args.lda};
  if (MustCopyRows(args)) {
    const StridedMatrix source = args.transpose_a
                                     ? StridedMatrix{args.a + block.k0 * args.lda + m0, 1, args.lda}
                                     : StridedMatrix{a.first, args.lda};
    CopyRows(source, rows, block.depth, plan.a_stride(), copy);
    a = {copy, plan.a_stride()};
  }
  const int64_t column = first_panel * kernels.nr;
  BlockArgs work;
  work.depth = block.depth;
  work.b = block.packed + column * block.depth;
  work.columns = std::min(panels * kernels.nr, block.columns - column);
  float* c = args.c + m0 * args.ldc + block.n0 + column;
  TileSpan tiles[kMaxTiles];
  work.tiles = CutTiles(of_a.all, of_a.begin, of_a.end, a, c, args.ldc, pointers, tiles);
  work.c_stride = args.ldc;
  work.accumulate = block.k0 > 0 || args.beta != 0;
  if (block.k0 == 0 && args.beta != 0) Scale(c, args.ldc, rows, work.columns, args.beta);
  RunBlock(kernels, work);
}

}  // namespace

int64_t GemmWorkspaceBytes(const CpuInfo& info, int64_t m, int64_t n, int64_t k, int threads) {
  const Plan plan(info, GetMicroKernels(), m, n, k);
  return plan.b_bytes() + threads * plan.lane_bytes();
}

void RunGemm(const CpuInfo& info, const GemmArgs& args, CpuStream& stream, std::byte* workspace,
             int threads) {
  if (args.m == 0 || args.n == 0) return;
  const MicroKernels& kernels = GetMicroKernels();
  const Plan plan(info, kernels, args.m, args.n, args.k);
  if (args.k == 0 || args.alpha == 0) {
    Scale(args.c, args.ldc, args.m, args.n, args.beta);
    return;
  }
  std::byte* lanes = workspace + plan.b_bytes();
  const RowTiles tiles(kernels.mr, args.m);
  const EvenParts rows(tiles.count(), plan.rows / kernels.mr);
  for (int64_t n0 = 0; n0 < args.n; n0 += plan.columns) {
    const int64_t columns = std::min(plan.columns, args.n - n0);
    const int64_t all_panels = CeilDiv(columns, kernels.nr);
    // Columns are split where the rows alone do not occupy the lanes.
    const int64_t splits = std::clamp<int64_t>(CeilDiv(int64_t{4} * threads, rows.count()), 1,
                                               threads > 1 ? all_panels : 1);
    const EvenParts parts(all_panels, CeilDiv(all_panels, splits));
    for (int64_t k0 = 0; k0 < args.k; k0 += plan.depth) {
      const BlockOfB block{n0, columns, k0, std::min(plan.depth, args.k - k0),
                           reinterpret_cast<float*>(workspace)};
      PackB(kernels, args, block, stream);
      stream.ParallelFor(rows.count() * parts.count(), [&](int64_t task, int lane) {
        const int64_t row = task / parts.count(), part = task % parts.count();
        RunTask(kernels, args, plan, block, {tiles, rows.Begin(row), rows.Begin(row + 1)},
                parts.Begin(part), parts.Begin(part + 1) - parts.Begin(part),
                lanes + lane * plan.lane_bytes());
      });
    }
  }
}

Status Gemm(const GemmArgs& args, const CpuDevice& device, CpuStream& stream) {
  if (args.m < 0 || args.n < 0 || args.k < 0)
    return InvalidArgument("gemm: negative size {}x{}x{}", args.m, args.n, args.k);
  const int64_t least_a = args.transpose_a ? args.m : args.k;
  const int64_t least_b = args.transpose_b ? args.k : args.n;
  if (args.lda < least_a || args.ldb < least_b || args.ldc < args.n) {
    return InvalidArgument("gemm: leading dimensions {}, {}, {}: expected at least {}, {}, {}",
                           args.lda, args.ldb, args.ldc, least_a, least_b, args.n);
  }
  const int threads = std::min(stream.threads(), device.pool().threads());
  ASSIGN_OR_RETURN(
      const std::shared_ptr<std::byte> workspace,
      AllocateHost(GemmWorkspaceBytes(device.info(), args.m, args.n, args.k, threads)));
  const SubnormalScope scope(stream.subnormals());
  RunGemm(device.info(), args, stream, workspace.get(), threads);
  return OkStatus();
}

}  // namespace fettle::kernels
