#include "passes/binary/binary_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ops/binary/op.h"
#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// Where the weight of an output and of one of its terms lies.
struct WeightStrides {
  int64_t output = 0, channel = 0, tap = 0;
};

/// The exponent of the lowest bit of a number that is not zero.
int LowestBit(double value) {
  int exponent = 0;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(digits));
}

/// Whether all sums of `pairs` products of the two pairs are exact in double.
bool SumsAreExact(int64_t pairs, std::array<double, 2> x, std::array<double, 2> w) {
  int unit = 0;
  double largest = static_cast<double>(pairs) * 4;
  for (const std::array<double, 2>& pair : {x, w}) {
    int lowest = 1024;
    for (double value : pair) {
      if (!std::isfinite(value)) return false;
      if (value != 0) lowest = std::min(lowest, LowestBit(value));
    }
    if (lowest == 1024) return true;  // all zero
    unit += lowest;
    largest *= std::max(std::fabs(pair[0]), std::fabs(pair[1]));
  }
  return std::ilogb(largest) + 1 - (unit - 1) <= 53;
}

class Reader {
 public:
  Reader(const ir::Graph& graph, ir::NodeId id, std::string& why)
      : graph_(graph), node_(graph.node(id)), why_(why) {
    product_.node = id;
    product_.x = ProductInput(node_);
    product_.y = node_.outputs[0];
    product_.is_conv = node_.op == "Conv"_op;
  }

  std::optional<BinaryProduct> Read(double x_low, double x_high) {
    product_.x_low = x_low;
    product_.x_high = x_high;
    const Constant* w = ConstantOf(graph_, node_.inputs[1]);
    if (w == nullptr) return Refuse("its weights are computed");
    if (w->dtype() != DType::kF32)
      return Refuse(fmt::format("its weights are {}", DTypeName(w->dtype())));
    if (!(product_.is_conv ? ReadConv(*w) : ReadMatrix(*w)) || !ReadBias()) return std::nullopt;
    if (product_.groups > 1 && product_.channels / product_.groups < kLeastGroup)
      return Refuse(fmt::format("a group has {} channels, which leave most of a word empty",
                                product_.channels / product_.groups));
    if (!ReadWeights(*w)) return std::nullopt;
    FindLattice();
    return std::move(product_);
  }

 private:
  std::nullopt_t Refuse(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  bool ReadConv(const Constant& w) {
    const Shape& shape = w.shape();
    product_.groups = node_.attributes.Int("group", 1);
    if (shape.rank() < 3 || shape.elements() == 0 || product_.groups < 1) {
      why_ = "its weights are empty";
      return false;
    }
    product_.outputs = shape[0];
    product_.rank = shape.rank();
    product_.channels = shape[1] * product_.groups;
    kernel_ = {shape.begin() + 2, shape.end()};
    const int64_t taps = shape.Count(2, shape.rank());
    product_.pairs = shape[1] * taps;
    strides_ = {.output = product_.pairs, .channel = taps, .tap = 1};
    const std::vector<int64_t> pads = node_.attributes.Ints("pads");
    product_.is_padded =
        node_.attributes.Text("auto_pad", "NOTSET").starts_with("SAME") ||
        std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
    return true;
  }

  bool ReadMatrix(const Constant& w) {
    const ir::Attributes& attributes = node_.attributes;
    const bool is_gemm = node_.op == "Gemm"_op;
    if (w.shape().rank() != 2 || w.elements() == 0) {
      why_ = "its weights are not a matrix";
      return false;
    }
    if (is_gemm && (attributes.Int("transA") != 0 || attributes.Float("alpha", 1) != 1 ||
                    attributes.Float("beta", 1) != 1)) {
      why_ = "Gemm with transA, alpha or beta";
      return false;
    }
    const bool is_transposed = is_gemm && attributes.Int("transB") != 0;
    product_.outputs = w.shape()[is_transposed ? 0 : 1];
    product_.channels = product_.pairs = w.shape()[is_transposed ? 1 : 0];
    strides_ = is_transposed ? WeightStrides{.output = product_.pairs, .channel = 1}
                             : WeightStrides{.output = 1, .channel = product_.outputs};
    return true;
  }

  /// A constant for each output.
  bool ReadBias() {
    product_.bias.assign(product_.outputs, 0.0);
    if (node_.op == "MatMul"_op || node_.input(2) == ir::kAbsent) return true;
    const Constant* bias = ConstantOf(graph_, node_.input(2));
    const bool fits = bias != nullptr && bias->dtype() == DType::kF32 &&
                      (bias->elements() == 1 ||
                       (bias->elements() == product_.outputs && bias->shape().rank() > 0 &&
                        bias->shape()[bias->shape().rank() - 1] == product_.outputs));
    if (!fits) {
      why_ = "its bias is not one constant for each output";
      return false;
    }
    for (int64_t o = 0; o < product_.outputs; ++o)
      product_.bias[o] = bias->GetDouble(bias->elements() == 1 ? 0 : o);
    return true;
  }

  /// The two values of an output's weights: equal ones count as the upper one.
  bool ReadPair(std::span<const float> w, int64_t output, float& low, float& high) {
    low = high = w[output * strides_.output];
    for (int64_t i = 0; i < product_.pairs; ++i) {
      const float value = w[output * strides_.output + TermOffset(i)];
      if (value == low || value == high) continue;
      if (low != high || std::isnan(value)) {
        why_ = fmt::format("the weights of output {} have more than two values ({}, {}, {})",
                           output, low, high, value);
        return false;
      }
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (std::isnan(low)) why_ = "its weights are NaN";
    return !std::isnan(low);
  }

  int64_t TermOffset(int64_t i) const {
    const int64_t taps = product_.is_conv ? strides_.channel : 1;
    return i / taps * strides_.channel + i % taps * strides_.tap;
  }

  bool ReadWeights(const Constant& w) {
    const Result<Tensor> tensor = w.ToTensor();
    const int64_t group = product_.channels / product_.groups, words = ops::WordsOf(group);
    Dims dims = {product_.outputs};
    dims.insert(dims.end(), kernel_.begin(), kernel_.end());
    dims.push_back(words);
    Result<Tensor> bits = Tensor::Create(DType::kU64, Shape(dims));
    if (!tensor.ok() || !bits.ok()) {
      why_ = "out of memory";
      return false;
    }
    const std::span<const float> floats = tensor->as<float>();
    const int64_t taps = product_.pairs / group;
    for (int64_t o = 0; o < product_.outputs; ++o) {
      float low = 0, high = 0;
      if (!ReadPair(floats, o, low, high)) return false;
      if (!SumsAreExact(product_.pairs, {product_.x_low, product_.x_high}, {low, high})) {
        why_ = fmt::format("sums of {} x {} may be rounded, since doubles hold 53 bits",
                           product_.x_high, high);
        return false;
      }
      // A one is what is not 0, or the upper of two values.
      const bool is_lower = high == 0 && low != 0;
      const float one = is_lower ? low : high, zero = is_lower ? high : low;
      product_.w_one.push_back(one);
      product_.w_zero.push_back(low != high ? zero : -high);  // equal ones: no zeros
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t c = 0; c < group; ++c) {
          const float value = floats[o * strides_.output + c * strides_.channel + t * strides_.tap];
          const int64_t word = (o * taps + t) * words + c / ops::kWordBits;
          bits->as<uint64_t>()[word] |= uint64_t{value == one} << (c % ops::kWordBits);
        }
      }
    }
    product_.words = *std::move(bits);
    return true;
  }

  void FindLattice() {
    const bool x_bipolar = product_.x_low == -product_.x_high, x_unipolar = product_.x_low == 0;
    bool w_bipolar = true, w_unipolar = true;
    for (int64_t o = 0; o < product_.outputs; ++o) {
      w_bipolar = w_bipolar && product_.w_zero[o] == -product_.w_one[o];
      w_unipolar = w_unipolar && product_.w_zero[o] == 0;
    }
    if (!(x_bipolar || x_unipolar) || !(w_bipolar || w_unipolar)) return;
    product_.is_lattice = true;
    product_.x_unipolar = !x_bipolar;
    product_.w_unipolar = !w_bipolar;
    for (int64_t o = 0; o < product_.outputs; ++o)
      product_.scale.push_back(product_.x_high * product_.w_one[o]);
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  std::string& why_;
  BinaryProduct product_;
  WeightStrides strides_;
  Dims kernel_;
};

/// Weights of both planes: those of the second one are the negated ones of the first. Bits behind
/// the last channel are any, as x has zeros there.
Result<Tensor> BothPlanes(const Tensor& words) {
  Dims dims = words.shape().dims();
  const int64_t row = dims.back(), rows = words.elements() / row;
  dims.back() *= 2;
  ASSIGN_OR_RETURN(Tensor both, Tensor::Create(DType::kU64, Shape(dims)));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t word = 0; word < row; ++word) {
      const uint64_t bits = words.as<uint64_t>()[i * row + word];
      both.as<uint64_t>()[i * row * 2 + word] = bits;
      both.as<uint64_t>()[i * row * 2 + row + word] = ~bits;
    }
  }
  return both;
}

}  // namespace

bool IsProduct(const ir::Node& node) {
  return node.op == "Conv"_op || node.op == "MatMul"_op || node.op == "Gemm"_op;
}

ir::ValueId ProductInput(const ir::Node& node) { return node.inputs[0]; }

std::optional<BinaryProduct> ReadBinaryProduct(const ir::Graph& graph, ir::NodeId id, double x_low,
                                               double x_high, std::string& why) {
  return Reader(graph, id, why).Read(x_low, x_high);
}

std::optional<BinaryProduct> ReadMaskedProduct(const ir::Graph& graph, ir::NodeId id, ir::ValueId x,
                                               std::string& why) {
  std::optional<BinaryProduct> product = ReadBinaryProduct(graph, id, 0, 1, why);
  if (!product) return std::nullopt;
  if (!product->is_lattice || product->w_unipolar) {
    why = "its input may be -1, 0 or 1, for which weights have to be -w and w";
    return std::nullopt;
  }
  Result<Tensor> both = BothPlanes(product->words);
  if (!both.ok()) {
    why = "out of memory";
    return std::nullopt;
  }
  product->words = *std::move(both);
  product->x_channels = product->channels;
  product->channels =
      product->groups * 2 * ops::kWordBits * ops::WordsOf(product->channels / product->groups);
  product->is_masked = true;
  product->x = x;
  return product;
}

}  // namespace fettle::passes
