// The packed weights of products of bytes, against one weight at a time.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/opencl/depthwise/depthwise.h"
#include "kernels/opencl/quantised/byte_product.h"

namespace fettle::kernels {
namespace {

/// What is packed: `weights` in the order of their constant, a zero point for each channel.
struct Filter {
  ByteProduct product;
  FilterForm form;
  DType dtype = DType::kI8;
  std::vector<int> weights, zeros;

  int64_t depth() const { return std::ssize(weights) / product.conv.oc; }
  int Centred(int64_t i) const {
    const int64_t o = product.weights_are_transposed ? i % product.conv.oc : i / depth();
    return weights[static_cast<size_t>(i)] - (zeros.empty() ? 0 : zeros[static_cast<size_t>(o)]);
  }
};

Constant BytesOf(const std::vector<int>& values, DType dtype) {
  const auto bytes = std::make_shared<std::vector<uint8_t>>(values.begin(), values.end());
  return Constant::FromBytes(dtype, Shape{std::ssize(values)}, std::as_bytes(std::span(*bytes)),
                             bytes);
}

void FillWeights(Filter& filter, bool has_zeros) {
  std::mt19937 random(7);
  const int least = filter.dtype == DType::kI8 ? -128 : 0;
  std::uniform_int_distribution<int> any(least, least + 255);
  const PixelConv& conv = filter.product.conv;
  for (int64_t i = 0; i < conv.oc * conv.ic / conv.groups * conv.taps(); ++i)
    filter.weights.push_back(any(random));
  for (int64_t o = 0; has_zeros && o < conv.oc; ++o) filter.zeros.push_back(any(random));
  filter.product.q.w = 0;
  if (has_zeros) filter.product.q.w_zero = 1;
}

template <typename T>
void ExpectPacked(const Filter& filter, const Constant& weights) {
  const PackRequest request =
      RequestByteFilter(filter.product, filter.form, std::is_same_v<T, int8_t>);
  const Constant zeros = BytesOf(filter.zeros, filter.dtype);
  std::vector<std::byte> blob(static_cast<size_t>(request.bytes), std::byte{0xa5});
  std::vector<const Constant*> constants{&weights};
  if (!filter.zeros.empty()) constants.push_back(&zeros);
  ASSERT_TRUE(request.pack(constants, blob.data()).ok());

  std::vector<int32_t> sums(static_cast<size_t>(filter.form.bias));
  std::vector<T> packed(static_cast<size_t>(filter.form.elements));
  for (int64_t i = 0; i < std::ssize(filter.weights); ++i) {
    const bool transposed = filter.product.weights_are_transposed;
    const int64_t o = transposed ? i % filter.product.conv.oc : i / filter.depth();
    sums[static_cast<size_t>(o)] += filter.Centred(i);
  }
  ForEachWeight(filter.form, [&](int64_t to, int64_t from) {
    packed[static_cast<size_t>(to)] = static_cast<T>(filter.Centred(from));
  });
  EXPECT_EQ(std::memcmp(blob.data(), sums.data(), sums.size() * sizeof(int32_t)), 0);
  const std::byte* at = blob.data() + filter.form.bias * 12;
  EXPECT_EQ(std::memcmp(at, packed.data(), packed.size() * sizeof(T)), 0);
}

Filter QuadFilter(DType dtype, bool has_zeros) {
  Filter filter{.dtype = dtype};
  filter.product.conv = {{.ic = 5, .oc = 7, .kernel = {1, 3, 2}}};
  FillWeights(filter, has_zeros);
  const QuadPlan plan = PlanQuads(filter.product.conv, {.quads = 2});
  filter.form = ByteForm(filter.product, plan, false);
  return filter;
}

TEST(OpenClByteFilter, HoldsWeightsOfBothTypesLessTheirZeroPoints) {
  for (const DType dtype : {DType::kI8, DType::kU8}) {
    for (const bool has_zeros : {false, true}) {
      const Filter filter = QuadFilter(dtype, has_zeros);
      ExpectPacked<int16_t>(filter, BytesOf(filter.weights, dtype));
    }
  }
}

TEST(OpenClByteFilter, OfMatricesHasItsChannelsAlongRows) {
  Filter filter{.dtype = DType::kU8};
  filter.product.conv = {{.ic = 6, .oc = 9}};
  filter.product.is_matrix = filter.product.weights_are_transposed = true;
  FillWeights(filter, true);
  filter.form = ByteForm(filter.product, PlanQuads(filter.product.conv, {.quads = 1}), false);
  ExpectPacked<int16_t>(filter, BytesOf(filter.weights, filter.dtype));
}

TEST(OpenClByteFilter, OfSingleChannels) {
  Filter filter{.dtype = DType::kU8};
  filter.product.conv = {{.ic = 5, .oc = 5, .groups = 5, .kernel = {1, 3, 3}}};
  FillWeights(filter, true);
  filter.form = DepthwiseForm(filter.product.conv);
  ExpectPacked<int16_t>(filter, BytesOf(filter.weights, filter.dtype));
}

TEST(OpenClByteFilter, HoldsBytesForDotProducts) {
  Filter filter = QuadFilter(DType::kI8, false);
  filter.form = ByteForm(filter.product, PlanQuads(filter.product.conv, {.quads = 2}), true);
  ExpectPacked<int8_t>(filter, BytesOf(filter.weights, filter.dtype));
}

TEST(OpenClByteFilter, TakesOneRepeatedWeight) {
  Filter filter = QuadFilter(DType::kI8, true);
  std::fill(filter.weights.begin(), filter.weights.end(), -3);
  const std::byte element{0xfd};  // -3
  ExpectPacked<int16_t>(filter, Constant::Splat(filter.dtype, Shape{std::ssize(filter.weights)},
                                                std::span(&element, 1)));
}

}  // namespace
}  // namespace fettle::kernels
