// The prepared matrix product of the C interface against its definition in double, on the CPU and
// on an OpenCL device where there is one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "fettle/fettle.h"
#include "fettle/fettle.hpp"

namespace {

/// Halves in the range of normal numbers, 0 and NaN.
uint16_t ToHalf(double value) {
  if (value == 0) return 0;
  if (std::isnan(value)) return 0x7E00;
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(value), &exponent);  // from 0.5 to 1
  const auto bits = static_cast<int>(std::nearbyint((2 * mantissa - 1) * 1024));
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) + ((exponent + 14) << 10) + bits);
}
double FromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31, bits = half & 1023;
  if (exponent == 31) return bits == 0 ? INFINITY : NAN;
  const double size =
      exponent == 0 ? std::ldexp(bits, -24) : std::ldexp(1024 + bits, exponent - 25);
  return half & 0x8000 ? -size : size;
}

/// Elements of a type as doubles.
class Matrix {
 public:
  Matrix(fettle_dtype type, int64_t elements) : type_(type) {
    bytes_.resize(static_cast<size_t>(elements) * fettle_dtype_size(type));
  }
  void* data() { return bytes_.data(); }
  int64_t size() const { return static_cast<int64_t>(bytes_.size() / fettle_dtype_size(type_)); }
  void Set(int64_t i, double value) {
    switch (type_) {
      case FETTLE_F32: return Put(i, static_cast<float>(value));
      case FETTLE_F16: return Put(i, ToHalf(value));
      case FETTLE_I8: return Put(i, static_cast<int8_t>(value));
      case FETTLE_U8: return Put(i, static_cast<uint8_t>(value));
      default: return Put(i, static_cast<int32_t>(value));
    }
  }
  double Get(int64_t i) const {
    switch (type_) {
      case FETTLE_F32: return Take<float>(i);
      case FETTLE_F16: return FromHalf(Take<uint16_t>(i));
      case FETTLE_I8: return Take<int8_t>(i);
      case FETTLE_U8: return Take<uint8_t>(i);
      default: return Take<int32_t>(i);
    }
  }

 private:
  template <typename T>
  void Put(int64_t i, T value) {
    std::memcpy(bytes_.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  T Take(int64_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
  fettle_dtype type_;
  std::vector<unsigned char> bytes_;
};

/// A product with gaps of `slack` elements behind rows and matrices.
struct Product {
  int64_t m, n, k, batch = 1;
  bool transpose_a = false, transpose_b = false, one_b = false, constant_b = false;
  double alpha = 1, beta = 0;
  fettle_dtype a = FETTLE_F32, b = FETTLE_F32, c = FETTLE_F32;
  int64_t slack = 3;
};

std::string TextOf(const Product& p) {
  return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " of " +
         std::to_string(p.batch) + ", transposed " + std::to_string(p.transpose_a) +
         std::to_string(p.transpose_b) + ", alpha " + std::to_string(p.alpha) + ", beta " +
         std::to_string(p.beta) + ", dtype " + std::to_string(p.a) + ", constant " +
         std::to_string(p.constant_b);
}

/// Lines and matrices of the batch with gaps between them.
fettle_gemm_options OptionsOf(const Product& p, const char* device) {
  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  options.device = device;
  options.threads = 2;
  options.dtype_a = p.a;
  options.dtype_b = p.b;
  options.dtype_c = p.c;
  options.transpose_a = p.transpose_a;
  options.transpose_b = p.transpose_b;
  options.batch = p.batch;
  options.lda = (p.transpose_a ? p.m : p.k) + p.slack;
  options.ldb = (p.transpose_b ? p.k : p.n) + p.slack;
  options.ldc = p.n + p.slack;
  options.stride_a = (p.transpose_a ? p.k : p.m) * options.lda + p.slack;
  options.stride_b = p.one_b ? 0 : (p.transpose_b ? p.n : p.k) * options.ldb + p.slack;
  options.stride_c = p.m * options.ldc + p.slack;
  return options;
}

/// Element (i, j) of product `z`; `before` was in C.
double Wanted(const Product& p, const fettle_gemm_options& options, const Matrix& a,
              const Matrix& b, double before, int64_t z, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t s = 0; s < p.k; ++s)
    sum +=
        a.Get(z * options.stride_a + (p.transpose_a ? s * options.lda + i : i * options.lda + s)) *
        b.Get(z * options.stride_b + (p.transpose_b ? j * options.ldb + s : s * options.ldb + j));
  return p.alpha * sum + (p.beta == 0 ? 0 : p.beta * before);
}

void Check(const Product& p, const char* device) {
  SCOPED_TRACE(device + (": " + TextOf(p)));
  fettle_gemm_options options = OptionsOf(p, device);
  Matrix a(p.a, p.batch * options.stride_a + 1), c(p.c, p.batch * options.stride_c + 1);
  Matrix b(p.b, p.batch * ((p.transpose_b ? p.n : p.k) * options.ldb + p.slack) + 1);
  const double low = p.a == FETTLE_U8 ? 0 : -5;
  for (int64_t i = 0; i < a.size(); ++i) a.Set(i, static_cast<double>(i % 11) + low);
  for (int64_t i = 0; i < b.size(); ++i) b.Set(i, static_cast<double>(i % 7) - 3);
  const double before = 2;
  for (int64_t i = 0; i < c.size(); ++i)
    c.Set(i, p.beta == 0 && (p.c == FETTLE_F32 || p.c == FETTLE_F16) ? NAN : before);
  const Matrix untouched = c;
  if (p.constant_b) options.b = b.data();
  fettle_gemm* gemm = nullptr;
  ASSERT_EQ(fettle_gemm_create(p.m, p.n, p.k, p.alpha, p.beta, &options, &gemm), FETTLE_OK)
      << fettle_last_error();
  const void* const given_b = p.constant_b ? nullptr : b.data();
  ASSERT_EQ(fettle_gemm_run(gemm, a.data(), given_b, c.data()), FETTLE_OK) << fettle_last_error();
  std::vector<bool> written(static_cast<size_t>(c.size()));
  for (int64_t z = 0; z < p.batch; ++z) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        const double want = Wanted(p, options, a, b, before, z, i, j);
        const int64_t at = z * options.stride_c + i * options.ldc + j;
        written[static_cast<size_t>(at)] = true;
        const double tolerance = p.c == FETTLE_F16 ? 2e-3 * std::abs(want) + 1e-2 : 1e-3;
        ASSERT_NEAR(c.Get(at), want, p.c == FETTLE_I32 ? 0 : tolerance)
            << z << ", " << i << ", " << j << " by " << fettle_gemm_kernels(gemm);
      }
    }
  }
  for (int64_t i = 0; i < c.size(); ++i) {
    if (written[static_cast<size_t>(i)]) continue;
    const bool same = c.Get(i) == untouched.Get(i) || std::isnan(untouched.Get(i));
    ASSERT_TRUE(same) << "wrote into the gap at " << i;
  }
  fettle_gemm_free(gemm);
}

class CApiPreparedGemm : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
    options.device = GetParam();
    fettle_gemm* gemm = nullptr;
    const fettle_status status = fettle_gemm_create(1, 1, 1, 1, 0, &options, &gemm);
    fettle_gemm_free(gemm);
    if (status == FETTLE_DEVICE_UNAVAILABLE) GTEST_SKIP() << fettle_last_error();
    ASSERT_EQ(status, FETTLE_OK) << fettle_last_error();
  }
};

TEST_P(CApiPreparedGemm, TransposesFactorsAndEdges) {
  for (const auto& [m, n, k] : {std::tuple(13, 17, 29), std::tuple(1, 9, 4), std::tuple(5, 1, 3)})
    for (int flags = 0; flags < 4; ++flags)
      for (const auto& [alpha, beta] : {std::pair(1.0, 0.0), std::pair(-0.5, 2.0)})
        Check({.m = m,
               .n = n,
               .k = k,
               .transpose_a = (flags & 1) != 0,
               .transpose_b = (flags & 2) != 0,
               .alpha = alpha,
               .beta = beta},
              GetParam());
}

TEST_P(CApiPreparedGemm, Batches) {
  for (int flags = 0; flags < 8; ++flags)
    Check({.m = 6,
           .n = 7,
           .k = 5,
           .batch = 3,
           .transpose_a = (flags & 1) != 0,
           .transpose_b = (flags & 2) != 0,
           .one_b = (flags & 4) != 0,
           .alpha = flags % 3 == 0 ? 1.0 : 0.5,
           .beta = flags % 2 == 0 ? 0.0 : 2.0},
          GetParam());
}

TEST_P(CApiPreparedGemm, HalvesAndBytes) {
  for (const bool transposed : {false, true}) {
    Product halves{.m = 9, .n = 11, .k = 14, .transpose_a = transposed, .transpose_b = transposed};
    halves.a = halves.b = halves.c = FETTLE_F16;
    Check(halves, GetParam());
    for (const fettle_dtype left : {FETTLE_I8, FETTLE_U8}) {
      Product bytes{.m = 9, .n = 11, .k = 14, .transpose_a = transposed, .transpose_b = transposed};
      bytes.a = left;
      bytes.b = FETTLE_I8;
      bytes.c = FETTLE_I32;
      bytes.beta = transposed ? 1 : 0;
      Check(bytes, GetParam());
      bytes.constant_b = true;
      Check(bytes, GetParam());
    }
  }
}

TEST_P(CApiPreparedGemm, AConstantBIsCopied) {
  for (const bool transposed : {false, true})
    Check({.m = 13, .n = 17, .k = 29, .transpose_b = transposed, .constant_b = true, .beta = 0.5},
          GetParam());
  float left[2] = {1, 2}, right[2] = {3, 4}, out = 0;
  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  options.device = GetParam();
  options.b = right;
  fettle::Gemm gemm = fettle::Gemm::Create(1, 1, 2, 1, 0, options).value();
  right[0] = right[1] = 0;
  ASSERT_TRUE(gemm.Run(left, nullptr, &out).ok());
  EXPECT_EQ(out, 11);
  EXPECT_NE(gemm.kernels(), "");
}

TEST_P(CApiPreparedGemm, ATunedOneComputesTheSame) {
  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  options.device = GetParam();
  options.tune = "fast";
  options.tune_seconds = 2;
  std::vector<float> a(12 * 20, 0.5f), b(20 * 8, 2.0f), c(12 * 8);
  fettle::Gemm gemm = fettle::Gemm::Create(12, 8, 20, 1, 0, options).value();
  ASSERT_TRUE(gemm.Run(a.data(), b.data(), c.data()).ok());
  for (const float value : c) EXPECT_NEAR(value, 20, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, CApiPreparedGemm, testing::Values("cpu", "opencl"));

/// As in BLAS: what has no part in the result is not read.
TEST(CApiPreparedGemm, ReadsNothingThatDoesNotMatter) {
  const auto run = [](int64_t m, int64_t n, int64_t k, double alpha, double beta, float* c) {
    fettle::Gemm gemm = fettle::Gemm::Create(m, n, k, alpha, beta).value();
    EXPECT_TRUE(gemm.Run(nullptr, nullptr, c).ok()) << fettle_last_error();
  };
  float c[2] = {3, NAN};
  run(1, 1, 5, 0, 2, c);
  EXPECT_EQ(c[0], 6);
  run(1, 2, 5, 0, 0, c);
  EXPECT_EQ(c[0], 0);
  EXPECT_EQ(c[1], 0);
  c[0] = 4;
  run(1, 1, 0, 1, 0.5, c);
  EXPECT_EQ(c[0], 2);
  run(0, 3, 3, 1, 0, nullptr);
  run(3, 0, 3, 1, 1, nullptr);
}

TEST(CApiPreparedGemm, RefusesWhatIsWrongAndSaysWhat) {
  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  fettle_gemm* gemm = nullptr;
  const auto expect = [&](fettle_status status, const char* reason, int64_t m = 4, int64_t n = 5,
                          int64_t k = 6, double alpha = 1, double beta = 0) {
    EXPECT_EQ(fettle_gemm_create(m, n, k, alpha, beta, &options, &gemm), status) << reason;
    EXPECT_NE(std::string(fettle_last_error()).find(reason), std::string::npos)
        << fettle_last_error();
    options = FETTLE_GEMM_OPTIONS_INIT;
  };
  expect(FETTLE_INVALID_ARGUMENT, "negative size", -1);
  options.lda = 5;
  expect(FETTLE_INVALID_ARGUMENT, "lda 5: rows of a have 6");
  options.transpose_b = 1;
  options.ldb = 5;
  expect(FETTLE_INVALID_ARGUMENT, "ldb 5: rows of b have 6");
  options.ldc = 4;
  expect(FETTLE_INVALID_ARGUMENT, "ldc 4: rows of c have 5");
  options.batch = 2;
  options.stride_a = 24;
  expect(FETTLE_INVALID_ARGUMENT, "stride_c 0: matrices of C overlap");
  options.batch = 2;
  options.stride_a = -24;
  expect(FETTLE_INVALID_ARGUMENT, "stride_a -24");
  options.batch = -1;
  expect(FETTLE_INVALID_ARGUMENT, "batch -1");
  options.dtype_a = FETTLE_I64;
  expect(FETTLE_UNSUPPORTED, "i64");
  options.dtype_a = FETTLE_I8;
  expect(FETTLE_UNSUPPORTED, "alpha 2", 4, 5, 6, 2);
  options.dtype_a = static_cast<fettle_dtype>(31);
  expect(FETTLE_INVALID_ARGUMENT, "dtype");
  options.tune = "quickly";
  expect(FETTLE_INVALID_ARGUMENT, "quickly");
  options.device = "opencl:no such platform";
  expect(FETTLE_DEVICE_UNAVAILABLE, "no such platform");
  options.struct_size = 0;
  expect(FETTLE_INVALID_ARGUMENT, "struct_size is 0");
  expect(FETTLE_INVALID_ARGUMENT, "too large", int64_t{1} << 40, int64_t{1} << 40,
         int64_t{1} << 40);
  fettle::Gemm made = fettle::Gemm::Create(2, 2, 2).value();
  float x[4] = {};
  EXPECT_EQ(fettle_gemm_run(made.get(), nullptr, x, x), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_gemm_run(made.get(), x, nullptr, x), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_gemm_run(made.get(), x, x, nullptr), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_gemm_run(nullptr, x, x, x), FETTLE_INVALID_ARGUMENT);
}

TEST(Gemm, FlushesSubnormalsUnlessTheyAreToBeKept) {
#if !defined(__x86_64__) && !defined(__aarch64__)
  GTEST_SKIP() << "the processor has no choice";
#endif
  const float a = 1e-30F, b = 1e-10F;
  for (const char* subnormals : {static_cast<const char*>(nullptr), "flush", "keep"}) {
    fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
    options.subnormals = subnormals;
    fettle_gemm* gemm = nullptr;
    ASSERT_EQ(fettle_gemm_create(1, 1, 1, 1, 0, &options, &gemm), FETTLE_OK);
    float c = 1;
    EXPECT_EQ(fettle_gemm_run(gemm, &a, &b, &c), FETTLE_OK);
    EXPECT_EQ(c != 0, subnormals != nullptr && std::strcmp(subnormals, "keep") == 0);
    fettle_gemm_free(gemm);
  }
  float c = 1;
  EXPECT_EQ(fettle_sgemm(0, 0, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1, 1), FETTLE_OK);
  EXPECT_EQ(c, 0);
  volatile float normal = 1.5e-38F;
  EXPECT_NE(normal * 0.5F, 0) << "the caller's own mode";
}

TEST(Gemm, RefusesUnknownWaysWithSubnormals) {
  fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
  options.subnormals = "zero";
  fettle_gemm* gemm = nullptr;
  EXPECT_EQ(fettle_gemm_create(1, 1, 1, 1, 0, &options, &gemm), FETTLE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(fettle_last_error()).find("flush|keep"), std::string::npos);
}

}  // namespace
