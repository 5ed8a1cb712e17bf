// How many of many cases of a kind a build takes that runs them at a tenth of the speed.
#pragma once

#include <cstdlib>

namespace fettle {

/// Of so many cases of a kind one is taken: 1 where nothing slows the tests, or FETTLE_FULL_TESTS
/// asks for all. Coprime to the counts of what the cases go through, so that each has its turn.
inline int CasesStride() {
#ifdef FETTLE_SLOWED_TESTS
  return std::getenv("FETTLE_FULL_TESTS") == nullptr ? 7 : 1;
#else
  return 1;
#endif
}

}  // namespace fettle
