#include "planner/choices.h"

#include <algorithm>

#include "base/memory_budget.h"
#include "kernels/arithmetic.h"

namespace fettle::planner {
namespace {

constexpr std::string_view kPrecisions[] = {"high", "normal", "low"};

bool AnyState(const kernels::StateAssignment& states, auto predicate) {
  return std::any_of(states.inputs.begin(), states.inputs.end(), predicate) ||
         std::any_of(states.outputs.begin(), states.outputs.end(), predicate);
}

/// Why the device has no memory for a group's operands in `states`; empty: it has.
std::string LimitOf(const kernels::StateAssignment& states, const ir::Graph& group,
                    const Device& device) {
  const auto check = [&](const std::vector<ir::ValueId>& ids, const std::vector<State>& of_values) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (of_values[i].device != device.kind()) continue;
      const Status status =
          device.CheckLimits(RequestFor(*group.value(ids[i]).shape, of_values[i]));
      if (!status.ok()) return status.message();
    }
    return std::string();
  };
  std::string reason = check(group.inputs, states.inputs);
  return reason.empty() ? check(group.outputs, states.outputs) : reason;
}

/// Leaves states without images out of what a kernel offers beside possible states with them.
void PreferImages(const ir::Graph& group, const Device& device, std::vector<Choice>& choices) {
  const auto has_image = [&](const Choice& choice) {
    const auto is_image = [](const State& state) { return state.memory == MemoryKind::kImage2d; };
    return AnyState(choice.states(), is_image) && LimitOf(choice.states(), group, device).empty();
  };
  if (std::none_of(choices.begin(), choices.end(), has_image)) return;
  std::erase_if(choices, [&](const Choice& choice) { return !has_image(choice); });
}

/// Puts states that store f32 values as f16 first.
void PreferHalves(std::vector<Choice>& choices) {
  std::stable_partition(choices.begin(), choices.end(), [](const Choice& choice) {
    return AnyState(choice.states(),
                    [](const State& state) { return state.storage == DType::kF16; });
  });
}

/// All that a kernel offers for a group on its device, best states first.
Result<std::vector<Choice>> Offers(const kernels::KernelDesc& kernel,
                                   const std::shared_ptr<const ir::Graph>& group,
                                   const Device& device) {
  ASSIGN_OR_RETURN(const auto match, kernels::MatchGroup(kernel, group, device));
  const int taste = match->taste();
  std::vector<Choice> offers;
  for (size_t i = 0; i < match->states().size(); ++i)
    offers.push_back({&kernel, match, static_cast<int>(i), taste});
  return offers;
}

void AddChoices(const Device& device, const Limits& limits, GroupChoices& result) {
  const ir::Graph& group = *result.fragment.graph;
  const auto kernels = kernels::FindBackend(device.kind())->kernels();
  result.rejected.reserve(result.rejected.size() + kernels.size());
  for (const kernels::KernelDesc* kernel : kernels) {
    if (limits.reference_only && !kernel->is_reference()) continue;
    if (std::string reason = limits.RefusalOf(kernel->arithmetic); !reason.empty()) {
      result.rejected.push_back({kernel->name, std::move(reason)});
      continue;
    }
    auto offers = Offers(*kernel, result.fragment.graph, device);
    if (!offers.ok()) {
      result.rejected.push_back({kernel->name, offers.status().message()});
      continue;
    }
    // States that pass a limit of the device are no reason to leave others out.
    if (limits.memory == MemoryKind::kImage2d && device.kind() != DeviceKind::kCpu)
      PreferImages(group, device, *offers);
    if (limits.precision != Precision::kHigh) PreferHalves(*offers);
    std::string refusal;
    bool taken = false;
    for (Choice& offer : *offers) {
      std::string reason = RefusalOf(offer.states(), group, device, limits);
      if (reason.empty()) {
        result.choices.push_back(std::move(offer));
        taken = true;
      } else {
        refusal = std::move(reason);
      }
    }
    if (!taken && !refusal.empty()) result.rejected.push_back({kernel->name, std::string(refusal)});
  }
}

/// Fails with kOutOfMemory where no kernel can compute the group: each of the values at its border
/// is in memory as a whole, floats perhaps as one bit each. Kernels are asked only after this,
/// since some make tables as long as an axis.
Status CheckBorder(const ir::Graph& group) {
  for (const std::vector<ir::ValueId>* ids : {&group.inputs, &group.outputs}) {
    for (const ir::ValueId id : *ids) {
      const ir::Value& value = group.value(id);
      const int64_t elements = value.shape->elements();
      RETURN_IF_ERROR(MemoryBudget::Current()->CheckAlone(
          IsFloat(value.dtype) ? elements / 8 : StorageBytes(value.dtype, elements)));
    }
  }
  return OkStatus();
}

}  // namespace

std::string RefusalOf(const kernels::StateAssignment& states, const ir::Graph& group,
                      const Device& device, const Limits& limits) {
  if (device.kind() == DeviceKind::kCpu) return {};
  if (std::string limit = LimitOf(states, group, device); !limit.empty()) return limit;
  if (limits.precision == Precision::kHigh) {
    const auto narrows = [&](const std::vector<ir::ValueId>& ids,
                             const std::vector<State>& of_values) {
      for (size_t i = 0; i < ids.size(); ++i) {
        const DType type = group.value(ids[i]).dtype;
        if (of_values[i].storage == DType::kF16 && (type == DType::kF32 || type == DType::kBF16))
          return true;
      }
      return false;
    };
    if (narrows(group.inputs, states.inputs) || narrows(group.outputs, states.outputs))
      return "precision high stores no f32 or bf16 value as f16";
  }
  const bool has_image = AnyState(states, [](const State& state) {
    return state.memory == MemoryKind::kImage2d || state.memory == MemoryKind::kImage1d;
  });
  if (has_image && limits.memory == MemoryKind::kBuffer) return "images are switched off";
  // One image in a plan, and the host enqueues all of its launches one by one.
  if (has_image && limits.memory == MemoryKind::kHost && device.replays_launches())
    return "the driver replays no launch on images (--memory image allows them)";
  return {};
}

Precision LeastPrecision(kernels::Arithmetic arithmetic) {
  switch (kernels::RowOf(arithmetic).loss) {
    case kernels::Loss::kNothing: return Precision::kHigh;
    case kernels::Loss::kFactors: return Precision::kNormal;
    case kernels::Loss::kResults: return Precision::kLow;
  }
  return Precision::kLow;
}

std::string Limits::RefusalOf(kernels::Arithmetic arithmetic) const {
  if (LeastPrecision(arithmetic) <= precision) return {};
  return fmt::format("computes in {}: --precision {} {}", kernels::RowOf(arithmetic).name,
                     PrecisionName(precision),
                     precision == Precision::kHigh ? "allows f32 alone" : "does not allow it");
}

std::string_view PrecisionName(Precision precision) {
  return kPrecisions[static_cast<int>(precision)];
}

std::string Limits::policy(const DeviceSet& devices) const {
  if (devices.beside_cpu().empty())
    return precision == Precision::kHigh ? std::string()
                                         : fmt::format("cpu|{}", PrecisionName(precision));
  return fmt::format("{}{}|{}|{}", DeviceKindName(preferred), accelerator_only ? " alone" : "",
                     PrecisionName(precision),
                     memory == MemoryKind::kHost     ? "auto"
                     : memory == MemoryKind::kBuffer ? "buffer"
                                                     : "image");
}

namespace {

/// Kernels of other layouts get the taste of the best on their device; returns whether there are
/// any. Sorts the choices, best first.
bool SortChoices(DeviceKind preferred, std::vector<Choice>& choices) {
  const auto beside = [](const Choice& choice) {
    return choice.taste == kernels::kBesideBest ? -1 : choice.taste == kernels::kBeforeBest ? 1 : 0;
  };
  const auto taste = [&](const Choice& choice) {
    if (beside(choice) == 0) return choice.taste;
    int best = 0;
    for (const Choice& other : choices)
      if (other.kernel->device() == choice.kernel->device()) best = std::max(best, other.taste);
    return best;
  };
  struct Ranked {
    std::tuple<bool, int, int> rank;
    Choice choice;
  };
  std::vector<Ranked> ranked;
  bool differ = false;
  for (const Choice& choice : choices) {
    ranked.push_back(
        {{choice.kernel->device() == preferred, taste(choice), beside(choice)}, choice});
    ranked.back().choice.taste = taste(choice);
    differ |= beside(choice) != 0;
  }
  std::ranges::stable_sort(ranked, std::greater<>(), &Ranked::rank);
  for (size_t i = 0; i < ranked.size(); ++i) choices[i] = std::move(ranked[i].choice);
  return differ;
}

}  // namespace

GroupChoices ListChoices(const ir::Graph& graph, const passes::Group& group,
                         const DeviceSet& devices, const Limits& limits) {
  GroupChoices result;
  result.nodes = group.nodes;
  result.fragment = passes::ExtractGroup(graph, group);
  result.fits = CheckBorder(*result.fragment.graph);
  if (!result.fits.ok()) return result;
  for (const Device* device : devices.all()) {
    if (device->kind() == DeviceKind::kCpu && limits.accelerator_only) continue;
    AddChoices(*device, limits, result);
  }
  result.differ_in_layouts = SortChoices(limits.preferred, result.choices);
  return result;
}

}  // namespace fettle::planner
