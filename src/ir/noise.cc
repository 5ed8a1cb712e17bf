#include "ir/noise.h"

#include <cmath>

#include "base/hash.h"

namespace fettle::ir {
namespace {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace

Result<Tensor> NoiseTensor(DType dtype, const Shape& shape, uint64_t seed, NoiseRange range) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  const int64_t count = tensor.elements();
  SplitMix random(seed);
  const bool known = DispatchDType(dtype, [&]<typename T>() {
    for (T& element : tensor.as<T>()) {
      const double unit = random.Unit();
      if constexpr (kIsFloating<T>) {
        element = Narrow<T>(range.low + unit * (range.high - range.low));
      } else {
        element = Narrow<T>(static_cast<int64_t>(
            std::floor(range.low + unit * (std::floor(range.high) - range.low + 1))));
      }
    }
  });
  if (!known && count > 0) return Unsupported("no noise of type {}", DTypeName(dtype));
  return tensor;
}

Result<std::vector<Tensor>> NoiseInputs(const Graph& graph, uint64_t seed,
                                        const NoiseHints& hints) {
  std::vector<Tensor> tensors;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (value.dtype == DType::kUndefined || !value.shape) {
      return InvalidArgument("graph input '{}' has no type or no shape", value.name);
    }
    Shape shape = *value.shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] < 0) shape[axis] = 1;
    }
    NoiseRange range = IsFloat(value.dtype) ? NoiseRange{-1, 1} : NoiseRange{0, 1};
    if (const auto hint = hints.find(value.name); hint != hints.end()) range = hint->second;
    ASSIGN_OR_RETURN(Tensor tensor,
                     NoiseTensor(value.dtype, shape, HashText(value.name, seed), range));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace fettle::ir
