#include "kernels/opencl/recurrent/recurrent_cell.h"

#include <algorithm>

namespace fettle::kernels {

void PackWeights(const RecurrentCell& cell, std::span<const Constant* const> constants,
                 float* out) {
  const ops::RecurrentAttributes& a = cell.attributes;
  const WeightParts parts(cell);
  const int64_t gates = a.gates, units = cell.units();
  std::fill_n(out, parts.end, 0.0f);
  const auto at = [](const Constant& constant, int64_t i) {
    return static_cast<float>(constant.GetDouble(i));
  };
  for (int64_t d = 0; d < a.directions; ++d)
    for (int64_t g = 0; g < gates; ++g)
      for (int64_t u = 0; u < a.hidden; ++u) {
        const int64_t row = (d * gates + g) * a.hidden + u;
        const int64_t column = (d * gates + g) * units + u;
        for (int64_t k = 0; k < a.input; ++k)
          out[k * cell.columns() + column] = at(*constants[0], row * a.input + k);
        float* state = out + parts.state + d * a.hidden * gates * units + g * units + u;
        for (int64_t k = 0; k < a.hidden; ++k)
          state[k * gates * units] = at(*constants[1], row * a.hidden + k);
        if (constants.size() < 3) continue;
        const int64_t bias = (d * 2 * gates + g) * a.hidden + u;
        const float of_state = at(*constants[2], bias + gates * a.hidden);
        const bool is_carried = cell.is_gru() && g == 2;
        out[parts.input_bias + column] = at(*constants[2], bias) + (is_carried ? 0.0f : of_state);
        if (is_carried) out[parts.carried + d * units + u] = of_state;
      }
}

}  // namespace fettle::kernels
