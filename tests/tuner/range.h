// Parameters of search spaces.
#pragma once

#include <string>

#include "tuner/search/space.h"

namespace fettle::tuner {

/// Takes the values 0 to `count` - 1.
inline Parameter Range(const std::string& name, int64_t count) {
  Parameter parameter{name, {}};
  for (int64_t i = 0; i < count; ++i) parameter.values.emplace_back(i);
  return parameter;
}

}  // namespace fettle::tuner
