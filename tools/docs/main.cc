// Prints the page of operators that docs/operators.md holds.
#include <cstdio>

#include "ops/docs.h"

int main() {
  std::fputs(fettle::ops::OperatorsPage().c_str(), stdout);
  return 0;
}
