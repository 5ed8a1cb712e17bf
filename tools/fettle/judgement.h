// Whether two tensors agree by the rules of docs/cli.md.
#pragma once

#include <optional>
#include <string>

#include "report.h"
#include "tensor/compare.h"
#include "tensor/tensor.h"

namespace fettle::tools {

/// What the user gave; where neither is set, the default rule for the type holds.
struct Limits {
  std::optional<double> atol, rtol;
  bool given() const { return atol || rtol; }
};

struct Judgement {
  Difference difference;
  bool ok = false;
  std::string rule;
};

/// Share of quantised elements that may be off by more than one step.
inline constexpr double kQuantisedOutliers = 1e-3;
/// Part of the reference's range that an fp32 result may be off.
inline constexpr double kRangeShare = 1e-3;

/// Floats: max abs <= 1e-3 of the reference's range, or one `step` on 99.9 % where the values lie
/// on a quantised grid (`step` > 0); 8-bit and 4-bit integers: one step on 99.9 %; other integers
/// and bools: equal. Different types or shapes never agree.
Judgement Judge(const Tensor& got, const Tensor& want, const Limits& limits, double step = 0);

Json JudgementJson(const Judgement& judgement);

}  // namespace fettle::tools
