#include "tuner/search/value.h"

#include <fmt/format.h>

namespace fettle::tuner {

std::string PrintValue(const Value& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

}  // namespace fettle::tuner
