// Prints the page of operators that docs/operators.md holds.
#include <cstdio>

#include "kernels/opencl/operators.h"
#include "ops/docs.h"

int main() {
  std::fputs(fettle::ops::OperatorsPage(fettle::kernels::OpenClOperators()).c_str(), stdout);
  return 0;
}
