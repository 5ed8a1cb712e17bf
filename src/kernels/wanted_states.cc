#include "kernels/wanted_states.h"

#include <algorithm>
#include <utility>

namespace fettle::kernels {
namespace {

thread_local const StateAssignment* wanted = nullptr;

bool AreAlike(const State& a, const State& b) {
  return a.device == b.device && a.memory == b.memory && a.storage == b.storage &&
         a.layout == b.layout;
}

}  // namespace

WantedStates::WantedStates(const StateAssignment& states)
    : before_(std::exchange(wanted, &states)) {}

WantedStates::~WantedStates() { wanted = before_; }

bool WantedStates::LeaveOut(const StateAssignment& states) {
  return wanted != nullptr && !(std::ranges::equal(states.inputs, wanted->inputs, AreAlike) &&
                                std::ranges::equal(states.outputs, wanted->outputs, AreAlike));
}

bool WantedStates::LeaveOutInput(const Layout& layout) {
  return wanted != nullptr && !wanted->inputs.empty() && wanted->inputs[0].layout != layout;
}

}  // namespace fettle::kernels
