// The packed form of constant weights of bytes, with what each output channel is scaled by.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/opencl/quantised/byte_product.h"

namespace fettle::kernels {
namespace {

/// One constant for each output channel, or one for all; `fallback` where it is absent.
class PerChannel {
 public:
  PerChannel(const Constant* constant, double fallback)
      : constant_(constant), fallback_(fallback) {}
  double operator[](int64_t o) const {
    if (constant_ == nullptr) return fallback_;
    return constant_->GetDouble(constant_->elements() == 1 ? 0 : o);
  }

 private:
  const Constant* constant_;
  double fallback_;
};

/// What the packed form is made by besides the constants.
struct FilterRecipe {
  FilterForm form;
  int64_t oc = 0, depth = 1;  // products of a sum
  double x_scale = 1, y_scale = 1;
  bool transposed = false, dot = false;
  bool has_scale = false, has_zero = false, has_bias = false, has_bias_scale = false;

  int64_t bytes() const { return form.bias * 12 + form.elements * (dot ? 1 : 2); }
};

/// Calls visit(o, from) for each run of weights, in their order: those of one output channel, or,
/// of `transposed` ones, one of each channel.
template <typename Visit>
void ForEachRun(const FilterRecipe& recipe, Visit visit) {
  const int64_t runs = recipe.transposed ? recipe.depth : recipe.oc;
  const int64_t length = recipe.transposed ? recipe.oc : recipe.depth;
  for (int64_t run = 0; run < runs; ++run) visit(recipe.transposed ? 0 : run, run * length);
}

template <typename T>
void SumWeights(const FilterRecipe& recipe, const T* weights, const std::vector<int32_t>& zeros,
                int32_t* sums) {
  ForEachRun(recipe, [&](int64_t o, int64_t from) {
    if (recipe.transposed) {
      for (int64_t i = 0; i < recipe.oc; ++i) sums[i] += weights[from + i];
    } else {
      sums[o] = std::accumulate(weights + from, weights + from + recipe.depth, int32_t{0});
    }
  });
  for (int64_t o = 0; o < recipe.oc; ++o) sums[o] -= static_cast<int32_t>(recipe.depth) * zeros[o];
}

template <typename T>
std::vector<int16_t> WithoutZeros(const FilterRecipe& recipe, const T* weights,
                                  const std::vector<int32_t>& zeros) {
  std::vector<int16_t> centred(recipe.oc * recipe.depth);
  ForEachRun(recipe, [&](int64_t o, int64_t from) {
    const int64_t step = recipe.transposed ? 1 : 0;
    const int64_t length = recipe.transposed ? recipe.oc : recipe.depth;
    for (int64_t i = 0; i < length; ++i)
      centred[from + i] = static_cast<int16_t>(weights[from + i] - zeros[o + i * step]);
  });
  return centred;
}

template <typename To, typename From>
void Order(const FilterForm& form, const From* weights, std::byte* packed) {
  auto* const out = reinterpret_cast<To*>(packed);
  ForEachWeight(form, [&](int64_t to, int64_t from) { out[to] = static_cast<To>(weights[from]); });
}

/// Writes the sums of each channel's weights less its zero point, and those weights in order.
template <typename T>
void PackWeights(const FilterRecipe& recipe, const T* weights, const std::vector<int32_t>& zeros,
                 int32_t* sums, std::byte* packed) {
  SumWeights(recipe, weights, zeros, sums);
  const bool centred = std::all_of(zeros.begin(), zeros.end(), [](int32_t z) { return z == 0; });
  if (recipe.dot) {
    Order<int8_t>(recipe.form, weights, packed);  // these have no zero points
  } else if (centred) {
    Order<int16_t>(recipe.form, weights, packed);
  } else {
    Order<int16_t>(recipe.form, WithoutZeros(recipe, weights, zeros).data(), packed);
  }
}

/// Constants: weights, then those of scale, zero point, bias and its scale that are there.
void PackFilter(const FilterRecipe& recipe, std::span<const Constant* const> constants,
                std::byte* out) {
  size_t next = 1;
  const auto take = [&](bool is_there, double fallback) {
    return PerChannel(is_there ? constants[next++] : nullptr, fallback);
  };
  const PerChannel scale = take(recipe.has_scale, 1), zero = take(recipe.has_zero, 0);
  const PerChannel bias = take(recipe.has_bias, 0), bias_scale = take(recipe.has_bias_scale, 1);
  std::memset(out, 0, recipe.bytes());
  auto* sums = reinterpret_cast<int32_t*>(out);
  auto* scales = reinterpret_cast<float*>(sums + recipe.form.bias);
  auto* addends = scales + recipe.form.bias;
  std::vector<int32_t> zeros;
  for (int64_t o = 0; o < recipe.oc; ++o) {
    zeros.push_back(static_cast<int32_t>(zero[o]));
    scales[o] = static_cast<float>(recipe.x_scale * scale[o] / recipe.y_scale);
    addends[o] = static_cast<float>(bias[o] * bias_scale[o] / recipe.y_scale);
  }
  auto* packed = reinterpret_cast<std::byte*>(addends + recipe.form.bias);
  const Constant& weights = *constants[0];
  std::vector<std::byte> computed;  // where they do not lie in one piece
  if (weights.is_splat() || weights.source() != nullptr) {
    computed.resize(weights.elements());
    weights.CopyTo(0, weights.elements(), computed.data());
  }
  const std::byte* from = computed.empty() ? weights.bytes().data() : computed.data();
  if (weights.dtype() == DType::kI8) {
    PackWeights(recipe, reinterpret_cast<const int8_t*>(from), zeros, sums, packed);
  } else {
    PackWeights(recipe, reinterpret_cast<const uint8_t*>(from), zeros, sums, packed);
  }
}

}  // namespace

PackRequest RequestByteFilter(const ByteProduct& product, const FilterForm& form, bool dot) {
  const QuantisedGroup& q = product.q;
  const FilterRecipe recipe{.form = form,
                            .oc = product.conv.oc,
                            .depth = product.conv.ic / product.conv.groups * product.conv.taps(),
                            .x_scale = q.x_scale,
                            .y_scale = q.quantiser() != nullptr ? q.quantiser()->scale : 1,
                            .transposed = product.weights_are_transposed,
                            .dot = dot,
                            .has_scale = q.w_scale != ir::kAbsent,
                            .has_zero = q.w_zero != ir::kAbsent,
                            .has_bias = q.bias != ir::kAbsent,
                            .has_bias_scale = q.bias_scale != ir::kAbsent};
  PackRequest request{.constants = {q.w}};
  for (ir::ValueId id : {q.w_scale, q.w_zero, q.bias, q.bias_scale}) {
    if (id != ir::kAbsent) request.constants.push_back(id);
  }
  request.recipe =
      fmt::format("{}.bytes.{}.{}.{}.{}{}{}{}", form.recipe, dot ? "dot" : "short", recipe.x_scale,
                  recipe.y_scale, int{recipe.has_scale}, int{recipe.has_zero}, int{recipe.has_bias},
                  int{recipe.has_bias_scale});
  request.bytes = recipe.bytes();
  request.pack = [recipe](std::span<const Constant* const> constants, std::byte* out) {
    PackFilter(recipe, constants, out);
    return OkStatus();
  };
  return request;
}

}  // namespace fettle::kernels
