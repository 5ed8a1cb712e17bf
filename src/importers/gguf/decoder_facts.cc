// What follows from a decoder's values.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "importers/gguf/decoder.h"

namespace fettle::gguf {

double Rotary::Frequency(int64_t pair, double divisor) const {
  const auto size = static_cast<double>(rotated), at = static_cast<double>(pair);
  const double frequency = std::pow(base, -2 * at / size) / divisor;
  if (!yarn) return frequency / stretch;
  // The pair that turns `turns` times in the context.
  const auto pair_of = [&](double turns) {
    const double positions = static_cast<double>(context) / (turns * 2 * std::numbers::pi);
    return size * std::log(positions) / (2 * std::log(base));
  };
  const double low = std::max(0.0, std::floor(pair_of(fast)));
  const double high = std::min(size - 1, std::ceil(pair_of(slow)));
  const double stays = 1 - std::clamp((at - low) / std::max(0.001, high - low), 0.0, 1.0);
  return frequency / stretch * (1 - stays) + frequency * stays;
}

bool Decoder::has_states() const {
  return std::ranges::any_of(
      forms, [](const LayerForm& form) { return form.recurrence != Recurrence::kNone; });
}

std::vector<KeptState> Decoder::StatesOf(int64_t layer) const {
  const Recurrence kind = forms[layer].recurrence;
  const Recurrent& r = recurrent;
  if (kind == Recurrence::kNone) return {};
  std::vector<KeptState> states = {{"conv", Shape{r.taps - 1, r.channels(kind)}}};
  if (kind != Recurrence::kShortConv)
    states.push_back({"scan", Shape{r.heads, r.size, r.value_size()}});
  return states;
}

}  // namespace fettle::gguf
