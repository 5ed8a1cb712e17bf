// Whether two tensors agree by the rules of docs/cli.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"
#include "tensor/compare.h"
#include "tensor/tensor.h"

namespace fettle::tools {

/// What floats may lose where the user says nothing: a share of the reference's range, and a least
/// ratio of signal to error in dB (0: any).
struct FloatRule {
  double range_share;
  double sqnr_db;
  std::string_view text;
};
inline constexpr FloatRule kHighRule{1e-3, 0, "1e-3 of the range"};
inline constexpr FloatRule kNormalRule{1e-2, 40, "1e-2 of the range and 40 dB"};
inline constexpr FloatRule kLowRule{3e-2, 30, "3e-2 of the range and 30 dB"};
/// That of a precision that was used: high|normal|low.
const FloatRule& FloatRuleOf(std::string_view precision);

/// What the user gave; where neither is set, the default rule for the type holds.
struct Limits {
  std::optional<double> atol, rtol;
  FloatRule floats = kHighRule;
  bool given() const { return atol || rtol; }
};

struct Judgement {
  Difference difference;
  bool ok = false;
  std::string rule;
};

/// Share of quantised elements that may be off by more than one step.
inline constexpr double kQuantisedOutliers = 1e-3;

/// Floats: by the rule of `limits`, or one `step` on 99.9 % where the values lie
/// on a quantised grid (`step` > 0); 8-bit and 4-bit integers: one step on 99.9 %; other integers
/// and bools: equal. Different types or shapes never agree.
Judgement Judge(const Tensor& got, const Tensor& want, const Limits& limits, double step = 0);

Json JudgementJson(const Judgement& judgement);

}  // namespace fettle::tools
