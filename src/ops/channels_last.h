// Operands of com.microsoft operators whose channels come last.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "ops/import.h"

namespace fettle::ops {

/// Axes of the operator's input, where kernel_shape says; 0: not known at import.
inline size_t RankByKernel(const ImportContext& context) {
  const size_t spatial = context.attributes().Ints("kernel_shape").size();
  return spatial == 0 ? 0 : spatial + 2;
}

/// `x` with its axes in the order `perm` of as many as RankByKernel, or after `equation` where that
/// is not known.
inline ir::ValueId MoveChannels(ImportContext& context, ir::ValueId x, std::vector<int64_t> perm,
                                const char* equation) {
  if (perm.empty()) return context.Emit1("Einsum", {x}, {{"equation", std::string(equation)}});
  return context.Emit1("Transpose", {x}, {{"perm", std::move(perm)}});
}

/// [n, ..., c] to [n, c, ...].
inline ir::ValueId ChannelsFirst(ImportContext& context, ir::ValueId x) {
  std::vector<int64_t> perm(RankByKernel(context));
  std::iota(perm.begin(), perm.end(), -1);
  if (!perm.empty()) {
    perm[0] = 0;
    perm[1] = static_cast<int64_t>(perm.size()) - 1;
  }
  return MoveChannels(context, x, std::move(perm), "n...c->nc...");
}
/// [n, c, ...] to [n, ..., c].
inline ir::ValueId ChannelsLast(ImportContext& context, ir::ValueId x) {
  std::vector<int64_t> perm(RankByKernel(context));
  std::iota(perm.begin(), perm.end(), 1);
  if (!perm.empty()) {
    perm[0] = 0;
    perm.back() = 1;
  }
  return MoveChannels(context, x, std::move(perm), "nc...->n...c");
}

}  // namespace fettle::ops
