// Random limited networks, and their optimum by trying every assignment.
#pragma once

#include <cstdint>
#include <optional>

#include "solver/network/limited.h"

namespace fettle::solver {

struct NetworkShape {
  int variables = 6;
  int most_values = 4;
  int pairs = 8;
  int triples = 0;
  double forbidden = 0.2;  // share of entries
  double functions = 0.2;  // share of pairs in which one variable is a function of the other
  int steps = 0;           // 0: no memory
  double tightness = 0.5;  // capacity as a share of the most that can be held
};

LimitedNetwork RandomNetwork(const NetworkShape& shape, uint64_t seed);

struct Optimum {
  Cost cost = kForbidden;
  Assignment values;
};

/// The cheapest assignment that is allowed and fits; empty where there is none.
std::optional<Optimum> BruteForce(const LimitedNetwork& problem);

}  // namespace fettle::solver
