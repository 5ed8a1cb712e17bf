// What a parameter can be set to.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace fettle::tuner {

/// A number or a text ("float4"). Equal only to values of the same kind.
using Value = std::variant<int64_t, double, std::string>;

/// "32", "0.5", "float4".
std::string PrintValue(const Value& value);

}  // namespace fettle::tuner
