#include "kernels/opencl/recurrent/step_form.h"

namespace fettle::kernels {
namespace {

/// Whether a launch may be one step. A GRU whose candidate is a product of r * h has two.
bool MaySpread(const RecurrentCell& cell) {
  return cell.number() != 1 && cell.attributes.steps > 0;
}

/// "" where weights may stay in registers.
std::string ResidentRefusal(const RecurrentCell& cell, const OpenClFacts& facts) {
  if (cell.number() == 1) return "a GRU whose candidate is a product of r * h has two products";
  const int64_t hidden = cell.attributes.hidden, items = Resident(cell).items;
  const int64_t most =
      std::min({Resident::kMostItems, static_cast<int64_t>(facts.max_work_group_size),
                static_cast<int64_t>(facts.max_work_item_sizes[0])});
  if (items > most) return fmt::format("{} gates of units: a work-group has {} items", items, most);
  if (hidden > Resident::kMostHidden)
    return fmt::format("{} weights of a gate: at most {}", hidden, Resident::kMostHidden);
  return "";
}

/// What one work-group reads in the time of a launch; measured on an H100 (LSTM of 128 units: 8.9
/// us a step by one, 256 KB).
constexpr int64_t kSpreadBytes = 96 << 10;

}  // namespace

StepItems UsualItems(const RecurrentCell& cell, const OpenClFacts& facts) {
  const ops::RecurrentAttributes& a = cell.attributes;
  const int64_t bytes = a.gates * a.hidden * cell.units() * static_cast<int64_t>(sizeof(float));
  if (!facts.is_cpu && ResidentRefusal(cell, facts).empty()) return {.items = 64, .spread = 2};
  StepItems usual{.items = facts.is_cpu ? 64 : 256, .spread = 0};
  if (!facts.is_cpu && MaySpread(cell) && bytes > kSpreadBytes) usual = {.items = 128, .spread = 1};
  usual.items = std::min<int64_t>(usual.items, facts.max_work_group_size);
  return usual;
}

Status CheckItems(const RecurrentCell& cell, const StepItems& form, const OpenClFacts& facts) {
  if (form.spread == 2) {
    const std::string refusal = ResidentRefusal(cell, facts);
    if (!refusal.empty()) return Unsupported("weights in registers: {}", refusal);
    if (form.items != 64) return Unsupported("weights in registers: items follow from the layer");
    return OkStatus();
  }
  if (form.spread > 0 && !MaySpread(cell))
    return Unsupported("a launch for each step: of RNN, LSTM and GRU with linear_before_reset");
  // Each sums one of the first slice's floats.
  const int64_t least = form.spread > 0 ? kStepQuads * 4 * cell.attributes.gates : 1;
  if (form.items < least)
    return Unsupported("a launch for each step: of {} items or more, got {}", least, form.items);
  if (form.items > facts.max_work_group_size || form.items > facts.max_work_item_sizes[0])
    return Unsupported("a work-group of {} items: the device takes {}", form.items,
                       facts.max_work_group_size);
  return OkStatus();
}

}  // namespace fettle::kernels
