#include "solver/network/factors.h"

#include <algorithm>

namespace fettle::solver {

void MergeFactors(Network& network) {
  std::vector<Factor>& factors = network.factors;
  std::stable_sort(factors.begin(), factors.end(),
                   [](const Factor& a, const Factor& b) { return a.scope < b.scope; });
  size_t kept = 0;
  for (size_t f = 1; f < factors.size(); ++f) {
    if (factors[f].scope == factors[kept].scope) {
      for (size_t i = 0; i < factors[f].table.size(); ++i) {
        factors[kept].table[i] += factors[f].table[i];
      }
    } else if (++kept != f) {
      factors[kept] = std::move(factors[f]);
    }
  }
  if (!factors.empty()) factors.resize(kept + 1);
}

}  // namespace fettle::solver
