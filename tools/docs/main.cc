// Prints the page of operators that docs/operators.md holds.
#include <cstdio>

#include "kernels/backend.h"
#include "ops/docs.h"

int main() {
  std::vector<fettle::ops::OperatorsOf> beside_cpu;
  for (const fettle::kernels::Backend* backend : fettle::kernels::Backends()) {
    if (backend->operators != nullptr) beside_cpu.push_back({backend->title, backend->operators()});
  }
  std::fputs(fettle::ops::OperatorsPage(beside_cpu).c_str(), stdout);
  return 0;
}
