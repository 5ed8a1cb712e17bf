// How GoogleTest names cases.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <string>

#include "ops/cases.h"

namespace fettle::ops {

inline void PrintTo(const Case& test_case, std::ostream* out) { *out << test_case.name; }

/// The name of a case as part of a test's name.
inline std::string CaseTestName(const testing::TestParamInfo<Case>& info) {
  std::string name(info.param.name);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace fettle::ops
