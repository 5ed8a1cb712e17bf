#include <algorithm>

#include "importers/gguf/decoder.h"

namespace fettle::gguf {

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
