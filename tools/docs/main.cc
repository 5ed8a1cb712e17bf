// Prints the page of operators that docs/operators.md holds.
#include <cstdio>
#include <string_view>

#include "kernels/backend.h"
#include "ops/docs.h"

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool wants_help = std::string_view(argv[1]) == "--help";
    std::fputs("usage: fettle-docs > docs/operators.md\n", wants_help ? stdout : stderr);
    return wants_help ? 0 : 2;
  }
  std::vector<fettle::ops::OperatorsOf> beside_cpu;
  for (const fettle::kernels::Backend* backend : fettle::kernels::Backends()) {
    if (backend->operators != nullptr) beside_cpu.push_back({backend->title, backend->operators()});
  }
  std::fputs(fettle::ops::OperatorsPage(beside_cpu).c_str(), stdout);
  return 0;
}
