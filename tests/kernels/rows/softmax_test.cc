#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/simd/targets.h"
#include "kernels/cpu/softmax/rows.h"

namespace fettle::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Numbers near 0, and `far` at every seventh place but the first.
std::vector<float> RowWith(float far, int64_t n) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i)
    x[i] = i % 7 == 6 ? far : static_cast<float>(i % 5) - 2.5F * static_cast<float>(i % 3);
  return x;
}

std::vector<double> Expected(const std::vector<float>& x) {
  double sum = 0;
  std::vector<double> y;
  for (float one : x) sum += y.emplace_back(std::exp(static_cast<double>(one)));
  for (double& one : y) one /= sum;
  return y;
}

void ExpectRow(const std::vector<float>& y, const std::vector<double>& expected) {
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-6) << i;
}

TEST(SoftmaxRows, AreRightOfFarNumbersBesideNearOnes) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const float far : {-1.0F, -90.0F, -500.0F, -kInfinity}) {
      for (const int64_t n : {1, 3, 8, 16, 17, 31, 49, 64, 65, 127, 130, 515}) {
        SCOPED_TRACE(n);
        const std::vector<float> x = RowWith(far, n);
        std::vector<float> y(n);
        SoftmaxRows(x.data(), y.data(), 1, n, SoftmaxForm::kPlain);
        ExpectRow(y, Expected(x));
        TiledRow row;
        y = x;
        WeighTile(y.data(), n, row);
        ScaleRow(y.data(), n, 1 / row.sum, y.data());
        ExpectRow(y, Expected(x));
      }
    }
  }
  ForceSimdTarget("");
}

// Rows are taken some at a time, and all of them stay apart, in place too.
TEST(SoftmaxRows, AreRightOfManyRows) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const int64_t n : {1, 7, 8, 9, 15, 16, 17, 33, 49, 130, 700}) {
      for (const bool log : {false, true}) {
        constexpr int64_t kRows = 19;
        std::vector<float> y, x;
        for (int64_t r = 0; r < kRows; ++r) {
          x = RowWith(static_cast<float>(3 * r - 110), n);
          y.insert(y.end(), x.begin(), x.end());
        }
        SoftmaxRows(y.data(), y.data(), kRows, n,
                    log ? SoftmaxForm::kLogarithm : SoftmaxForm::kPlain);
        for (int64_t r = 0; r < kRows; ++r) {
          SCOPED_TRACE(testing::Message() << n << " numbers, log " << log << ", row " << r);
          const std::vector<double> expected =
              Expected(RowWith(static_cast<float>(3 * r - 110), n));
          std::vector<float> row(y.begin() + r * n, y.begin() + (r + 1) * n);
          if (log) std::ranges::transform(row, row.begin(), [](float v) { return std::exp(v); });
          ExpectRow(row, expected);
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(SoftmaxColumns, AreRightOfFarNumbersBesideNearOnes) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const float far : {-1.0F, -500.0F, -kInfinity}) {
      for (const int64_t n : {1, 3, 4, 6, 9, 130}) {
        for (const int64_t columns : {1, 5, 16, 20}) {
          const std::vector<float> x = RowWith(far, n);
          std::vector<float> side(n * columns), column(n);
          for (int64_t i = 0; i < n * columns; ++i) side[i] = x[i / columns];
          SoftmaxColumns(side.data(), side.data(), n, columns, columns, SoftmaxForm::kPlain);
          for (int64_t c = 0; c < columns; ++c) {
            for (int64_t r = 0; r < n; ++r) column[r] = side[r * columns + c];
            ExpectRow(column, Expected(x));
          }
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(SoftmaxRows, ANanMakesAllOfItsRowNan) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const int64_t n : {7, 40, 64, 130}) {
      const std::vector<float> x = RowWith(std::nanf(""), n);
      std::vector<float> y(n);
      SoftmaxRows(x.data(), y.data(), 1, n, SoftmaxForm::kPlain);
      for (float one : y) EXPECT_TRUE(std::isnan(one)) << target << ", " << n;
      SoftmaxRows(x.data(), y.data(), 1, n, SoftmaxForm::kNanToZero);
      EXPECT_THAT(y, testing::Each(0.0F)) << target << ", " << n;
      for (const float sole : {std::nanf(""), kInfinity}) {
        y = RowWith(sole, n);
        TiledRow row;
        WeighTile(y.data(), n, row);
        EXPECT_TRUE(std::isnan(row.sum)) << sole << " on " << target << ", " << n;
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
