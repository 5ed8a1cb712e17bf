// Seeded noise: contents for tests, benchmarks and problem texts, equal on every machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace fettle::ir {

/// Values are drawn uniformly from [low, high]; integers include both ends.
struct NoiseRange {
  double low = -1;
  double high = 1;
  bool operator==(const NoiseRange&) const = default;
};
/// Ranges that a text asked for, by the name of the graph input.
using NoiseHints = std::map<std::string, NoiseRange, std::less<>>;

/// A tensor of noise: a pure function of the arguments. Fails as Tensor::Create does.
Result<Tensor> NoiseTensor(DType dtype, const Shape& shape, uint64_t seed, NoiseRange range);

/// One tensor per graph input, of its type and concrete shape, seeded by `seed` and the input's
/// name. Floats lie in [-1, 1], integers and booleans are 0 or 1, unless `hints` says otherwise.
/// Fails with kInvalidArgument where an input's type or shape is not known; extents of -1 count as
/// 1.
Result<std::vector<Tensor>> NoiseInputs(const Graph& graph, uint64_t seed,
                                        const NoiseHints& hints = {});

}  // namespace fettle::ir
