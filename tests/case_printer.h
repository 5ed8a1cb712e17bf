// How GoogleTest names a case in its messages.
#pragma once

#include <ostream>

#include "ops/cases.h"

namespace fettle::ops {

inline void PrintTo(const Case& test_case, std::ostream* out) { *out << test_case.name; }

}  // namespace fettle::ops
