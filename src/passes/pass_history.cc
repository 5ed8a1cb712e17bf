#include "passes/pass_history.h"

#include <utility>

#include "passes/pipeline.h"

namespace fettle::passes {

std::vector<bool> PassHistory::ChosenFor(const Outline& outline) const {
  std::vector<bool> chosen(Passes().size());
  size_t near = 0;
  for (const Known& known : known_) {
    if (known.outline.structure != outline.structure ||
        Distance(known.outline.extents, outline.extents) == 0)
      continue;
    ++near;
    for (size_t i = 0; i < known.fired.size(); ++i)
      if (known.fired[i] > 0) chosen[i] = true;
  }
  return near >= kAsked ? chosen : std::vector<bool>();
}

void PassHistory::Keep(Outline outline, const std::vector<int>& fired) {
  if (known_.size() == kMostKept) known_.erase(known_.begin());
  known_.push_back({std::move(outline), fired});
}

}  // namespace fettle::passes
