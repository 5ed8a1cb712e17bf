#include "kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

struct Sizes {
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

void CheckGemm(const Sizes& size, bool transpose_a, bool transpose_b, float alpha, float beta,
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
    for (const Sizes& size :
         {Sizes{1, 1, 1}, Sizes{1, 67, 33}, Sizes{2, 16, 5}, Sizes{3, 17, 64}, Sizes{13, 31, 7},
          Sizes{14, 32, 16}, Sizes{15, 33, 17}, Sizes{29, 65, 130}, Sizes{40, 7, 600}}) {
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

TEST(RowTiles, AreAsFewAndAsEqualAsCanBe) {
  for (const int mr : {6, 8, 14}) {
    for (int64_t rows = 1; rows <= 300; ++rows) {
      const RowTiles tiles(mr, rows);
      ASSERT_EQ(tiles.count(), (rows + mr - 1) / mr);
      ASSERT_EQ(tiles.Begin(0), 0);
      ASSERT_EQ(tiles.Begin(tiles.count()), rows);
      for (int64_t i = 0; i < tiles.count(); ++i) {
        const int64_t height = tiles.Begin(i + 1) - tiles.Begin(i);
        ASSERT_LE(height, mr);
        ASSERT_GE(height, rows / tiles.count());
      }
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
