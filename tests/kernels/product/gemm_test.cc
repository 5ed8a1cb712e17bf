#include "kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

struct GemmSizes {
  int64_t m, n, k;
};

/// A matrix with room behind each row that must stay as it is.
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<float> data;

  Matrix(int64_t r, int64_t c, unsigned seed) : rows(r), columns(c), stride(c + 3) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    data.resize(static_cast<size_t>(rows * stride + 1));
    for (float& x : data) x = uniform(random);
  }
  float at(int64_t r, int64_t c) const { return data[static_cast<size_t>(r * stride + c)]; }
};

void CheckGemm(const GemmSizes& size, bool transpose_a, bool transpose_b, float alpha, float beta,
               int threads) {
  const Matrix a = transpose_a ? Matrix(size.k, size.m, 1) : Matrix(size.m, size.k, 1);
  const Matrix b = transpose_b ? Matrix(size.n, size.k, 2) : Matrix(size.k, size.n, 2);
  Matrix c(size.m, size.n, 3);
  if (beta == 0) {
    for (int64_t i = 0; i < size.m; ++i) {
      for (int64_t j = 0; j < size.n; ++j) c.data[static_cast<size_t>(i * c.stride + j)] = NAN;
    }
  }
  const Matrix before = c;
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  CpuStream stream(device, threads);
  GemmArgs args{size.m,        size.n,        size.k,      alpha,         beta,
                a.data.data(), a.stride,      transpose_a, b.data.data(), b.stride,
                transpose_b,   c.data.data(), c.stride};
  ASSERT_TRUE(Gemm(args, device, stream).ok());
  const double tolerance = 1e-6 * (1 + 4 * std::sqrt(static_cast<double>(size.k)));
  for (int64_t i = 0; i < size.m; ++i) {
    for (int64_t j = 0; j < c.stride; ++j) {
      if (j >= size.n) {
        ASSERT_EQ(c.at(i, j), before.at(i, j)) << "wrote behind row " << i;
        continue;
      }
      double sum = 0;
      for (int64_t k = 0; k < size.k; ++k) {
        sum += static_cast<double>(transpose_a ? a.at(k, i) : a.at(i, k)) *
               static_cast<double>(transpose_b ? b.at(j, k) : b.at(k, j));
      }
      double want = alpha * sum;
      if (beta != 0) want += beta * before.at(i, j);
      ASSERT_NEAR(c.at(i, j), want, tolerance)
          << size.m << "x" << size.n << "x" << size.k << " at " << i << "," << j;
    }
  }
}

TEST(Gemm, AllTransposesAndSizesOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const GemmSizes& size :
         {GemmSizes{1, 1, 1}, GemmSizes{1, 67, 33}, GemmSizes{2, 16, 5}, GemmSizes{3, 17, 64},
          GemmSizes{13, 31, 7}, GemmSizes{14, 32, 16}, GemmSizes{15, 33, 17},
          GemmSizes{29, 65, 130}, GemmSizes{40, 7, 600}}) {
      for (int flags = 0; flags < 4; ++flags) {
        CheckGemm(size, (flags & 1) != 0, (flags & 2) != 0, 1, 0, 1);
        CheckGemm(size, (flags & 1) != 0, (flags & 2) != 0, -0.5F, 2, 2);
      }
    }
  }
  ForceSimdTarget("");
}

TEST(Gemm, RowsThatShareCacheSets) {
  // A leading dimension of 4 KiB takes the path that copies rows.
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  CpuStream stream(device, 1);
  std::vector<float> a(20 * 1024), b(1024 * 8), c(20 * 8);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  GemmArgs args{20, 8, 1024, 1, 0, a.data(), 1024, false, b.data(), 8, false, c.data(), 8};
  ASSERT_TRUE(Gemm(args, device, stream).ok());
  for (size_t i = 0; i < 20; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      double want = 0;
      for (size_t k = 0; k < 1024; ++k)
        want += static_cast<double>(a[i * 1024 + k]) * static_cast<double>(b[k * 8 + j]);
      ASSERT_EQ(c[i * 8 + j], want);
    }
  }
}

TEST(Gemm, EmptyDepthScalesAndEmptySizesDoNothing) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  CpuStream stream(device, 1);
  float c[2] = {3, 4};
  GemmArgs args{1, 2, 0, 1, 2, nullptr, 0, false, nullptr, 2, false, c, 2};
  ASSERT_TRUE(Gemm(args, device, stream).ok());
  EXPECT_EQ(c[0], 6);
  EXPECT_EQ(c[1], 8);
  args.m = 0;
  ASSERT_TRUE(Gemm(args, device, stream).ok());
  args.m = -1;
  EXPECT_FALSE(Gemm(args, device, stream).ok());
}

TEST(Gemm, ThreadsDoNotChangeResults) {
  std::vector<float> results[2];
  for (int threads = 1; threads <= 2; ++threads) {
    const CpuDevice device(std::make_shared<ThreadPool>(threads));
    CpuStream stream(device, threads);
    const Matrix a(300, 700, 1), b(700, 90, 2);
    Matrix c(300, 90, 3);
    GemmArgs args{300,      90,    700,           1,        0,     a.data.data(),
                  a.stride, false, b.data.data(), b.stride, false, c.data.data(),
                  c.stride};
    ASSERT_TRUE(Gemm(args, device, stream).ok());
    results[threads - 1] = c.data;
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Rows, taps and depths of small whole numbers, so that sums are exact in any order.
TEST(Block, SlicesOfAnyLengthAddUpToTheProduct) {
  constexpr int64_t kRows = 19, kTaps = 3, kDepth = 7, kColumns = 45;
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    const MicroKernels& kernels = GetMicroKernels();
    const int64_t panels = (kColumns + kernels.nr - 1) / kernels.nr;
    const auto a_of = [](int64_t r, int64_t tap, int64_t k) {
      return static_cast<float>((3 * r + 5 * tap + 7 * k) % 11 - 5);
    };
    const auto b_of = [](int64_t tap, int64_t k, int64_t n) {
      return static_cast<float>((2 * tap + 3 * k + 5 * n) % 13 - 6);
    };
    std::vector<float> a, b(static_cast<size_t>(panels * kTaps * kDepth * kernels.nr));
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t i = 0; i < kTaps * kDepth; ++i) a.push_back(a_of(r, i / kDepth, i % kDepth));
    for (int64_t n = 0; n < kColumns; ++n)
      for (int64_t i = 0; i < kTaps * kDepth; ++i)
        b[static_cast<size_t>((n / kernels.nr * kTaps * kDepth + i) * kernels.nr +
                              n % kernels.nr)] = b_of(i / kDepth, i % kDepth, n);
    std::vector<const float*> pointers;
    for (int64_t row = 0; row < kRows; row += kernels.mr)
      for (int64_t tap = 0; tap < kTaps; ++tap)
        for (int64_t r = row; r < std::min<int64_t>(row + kernels.mr, kRows); ++r)
          pointers.push_back(a.data() + (r * kTaps + tap) * kDepth);
    for (const int64_t depth_block : {1, 7, 14, 20, 1000}) {
      std::vector<float> c(kRows * kColumns, NAN);
      TileSpan tiles[kRows];
      BlockArgs args;
      args.tiles = CutTiles(kernels.mr, pointers.data(), kRows, kTaps, c.data(), kColumns, tiles);
      args.taps = kTaps;
      args.depth = kDepth;
      args.b = b.data();
      args.columns = args.c_stride = kColumns;
      args.depth_block = depth_block;
      RunBlock(kernels, args);
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t n = 0; n < kColumns; ++n) {
          float sum = 0;
          for (int64_t i = 0; i < kTaps * kDepth; ++i)
            sum += a_of(r, i / kDepth, i % kDepth) * b_of(i / kDepth, i % kDepth, n);
          ASSERT_EQ(c[static_cast<size_t>(r * kColumns + n)], sum)
              << target << " row " << r << " column " << n << " slices of " << depth_block;
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(Block, FetchesRowsAheadWhereverTheyLie) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    const MicroKernels& kernels = GetMicroKernels();
    // Rows close and far apart; whole tiles, pairs of narrow ones, and a rest.
    for (const int64_t stride : {8, 16, 40}) {
      for (const int64_t columns : {kernels.nr / 2, kernels.nr + 3}) {
        const int64_t rows = 7 * kernels.mr + 2, depth = 8;
        const int64_t panels = (columns + kernels.nr - 1) / kernels.nr;
        std::vector<float> a(rows * stride), b(panels * depth * kernels.nr);
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5);
        for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 3);
        std::vector<float> c(rows * columns), far(rows * columns);
        std::vector<const float*> pointers(rows);
        std::vector<TileSpan> tiles(8);
        for (std::vector<float>* out : {&c, &far}) {
          BlockArgs args;
          args.tiles = CutTiles(kernels.mr, {a.data(), stride}, rows, out->data(), columns,
                                pointers.data(), tiles.data());
          args.depth = depth;
          args.b = b.data();
          args.columns = args.c_stride = columns;
          args.far_rows = out == &far;
          RunBlock(kernels, args);
        }
        EXPECT_EQ(c, far) << target << " stride " << stride << " columns " << columns;
        for (int64_t i = 0; i < rows * columns; ++i) {
          const int64_t row = i / columns, column = i % columns, panel = column / kernels.nr;
          float sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += a[row * stride + k] * b[(panel * depth + k) * kernels.nr + column % kernels.nr];
          ASSERT_EQ(c[i], sum) << target << " row " << row << " column " << column;
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(Blocking, TasksHaveNearEqualRowsAndReadBAsSeldomAsCanBe) {
  CpuInfo info;
  info.l2_bytes = 2 << 20;
  constexpr int kMr = 14, kNr = 32;
  const auto rows = [&](int64_t m) {
    return ChooseBlocking(info, kMr, kNr, m, 768, 768, 1, 16 * kMr).rows;
  };
  EXPECT_EQ(rows(0), kMr);
  EXPECT_EQ(rows(16), 2 * kMr);
  EXPECT_EQ(rows(50), 4 * kMr);
  EXPECT_EQ(rows(197), 15 * kMr);
  EXPECT_EQ(rows(17 * kMr), 9 * kMr) << "9 and 8 tiles, not 16 and 1";
  EXPECT_EQ(SplitPanels(24, 1, 1), 24);
  EXPECT_EQ(SplitPanels(24, 1, 2), 3);
  EXPECT_EQ(SplitPanels(24, 100, 2), 24);
  EXPECT_EQ(SplitPanels(3, 1, 16), 1);
}

TEST(Blocking, LongRowsOfFewTermsAreWrittenFewAtATime) {
  CpuInfo info;
  info.l2_bytes = 2 << 20;
  constexpr int kMr = 14, kNr = 32;
  const auto rows = [&](int64_t m, int64_t n, int64_t k) {
    return ChooseBlocking(info, kMr, kNr, m, n, k, 1, 1 << 20).rows;
  };
  EXPECT_EQ(rows(2000, 1000, 64), 4 * kMr);
  EXPECT_GT(rows(500, 1000, 64), 4 * kMr) << "the cache holds the results";
  EXPECT_GT(rows(9000, 256, 64), 4 * kMr) << "short rows";
  EXPECT_GT(rows(2000, 1000, 300), 4 * kMr) << "many terms";
}

TEST(Blocking, LanesHaveEqualSharesOfFewTasks) {
  CpuInfo info;
  info.l2_bytes = 1 << 20;
  constexpr int kMr = 14, kNr = 32;
  struct Row {
    int64_t m, n, k, most;  // tiles of the lane that has most
  };
  static constexpr Row kRows[] = {
      {49, 440, 440, 28},     // 14 panels: not 2 each for 4 and 3 tasks
      {196, 80, 480, 21},     // 14 tiles of 3 panels
      {49, 1280, 320, 80},    // 40 panels
      {196, 512, 1024, 112},  // 14 tiles, not 4 + 4 and 4 + 2
      {1, 64, 16, 1},
  };
  for (const Row& row : kRows) {
    const Blocking blocking = ChooseBlocking(info, kMr, kNr, row.m, row.n, row.k, 2, 64 * kMr);
    const TaskGrid grid(1, row.m, CeilDiv(row.n, kNr), blocking);
    std::array<int64_t, 2> tiles{};
    for (int64_t i = 0; i < grid.count(); ++i) {
      const TaskGrid::Task task = grid.At(i);
      tiles[2 * i < grid.count() ? 0 : 1] +=
          CeilDiv(task.rows, kMr) * (task.panel_end - task.panel);
    }
    EXPECT_LE(std::max(tiles[0], tiles[1]), row.most) << row.m;
  }
}

}  // namespace
}  // namespace fettle::kernels
