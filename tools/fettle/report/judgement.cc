#include "report/judgement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace fettle::tools {
namespace {

bool IsQuantised(DType dtype) { return IsInteger(dtype) && RowOf(dtype).bits <= 8; }

/// The extent of the reference's values; of one repeated value, its magnitude.
double RangeOf(const Difference& difference) {
  const double range = difference.want_max - difference.want_min;
  const double magnitude = std::max(std::abs(difference.want_max), std::abs(difference.want_min));
  return range > 1e-6 * magnitude ? range : magnitude;
}

void JudgeSteps(const Tensor& got, const Tensor& want, double step, Judgement& judgement) {
  // Half a step of slack: the grid itself is only known to rounding.
  judgement.difference = Compare(got.view(), want.view(), {.atol = 1.5 * step, .rtol = 0});
  const auto allowed =
      static_cast<int64_t>(kQuantisedOutliers * static_cast<double>(judgement.difference.elements));
  judgement.ok = judgement.difference.bad <= allowed;
  judgement.rule = "one quantisation step on 99.9 %";
}

}  // namespace

const FloatRule& FloatRuleOf(std::string_view precision) {
  if (precision == "low") return kLowRule;
  return precision == "normal" ? kNormalRule : kHighRule;
}

Judgement Judge(const Tensor& got, const Tensor& want, const Limits& limits, double step) {
  Judgement judgement;
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    judgement.rule =
        fmt::format("expected {} of shape {}, got {} of shape {}", DTypeName(want.dtype()),
                    want.shape().ToString(), DTypeName(got.dtype()), got.shape().ToString());
    judgement.difference.bad = 1;
    return judgement;
  }
  if (limits.given()) {
    const Tolerance tolerance{.atol = limits.atol.value_or(0), .rtol = limits.rtol.value_or(0)};
    judgement.difference = Compare(got.view(), want.view(), tolerance);
    judgement.ok = judgement.difference.ok();
    judgement.rule = fmt::format("atol {:g} + rtol {:g}", tolerance.atol, tolerance.rtol);
    return judgement;
  }
  if (IsQuantised(want.dtype()) || step > 0) {
    JudgeSteps(got, want, IsQuantised(want.dtype()) ? 1 : step, judgement);
    return judgement;
  }
  judgement.difference = Compare(got.view(), want.view(), {});
  if (!IsFloat(want.dtype())) {
    judgement.rule = "equal";
    judgement.ok = judgement.difference.ok();
    return judgement;
  }
  const double atol = std::isfinite(judgement.difference.want_max)
                          ? limits.floats.range_share * RangeOf(judgement.difference)
                          : 0;
  judgement.difference = Compare(got.view(), want.view(), {.atol = atol, .rtol = 0});
  // The ratio is not a number where both have infinities.
  const bool loud = !(judgement.difference.sqnr_db < limits.floats.sqnr_db);
  judgement.ok = judgement.difference.ok() && (limits.floats.sqnr_db == 0 || loud);
  judgement.rule = limits.floats.text;
  return judgement;
}

Json JudgementJson(const Judgement& judgement) {
  const Difference& d = judgement.difference;
  // Equal results have an infinite ratio, which JSON cannot say.
  return {{"max_abs", NumberJson(d.max_abs)},
          {"max_rel", NumberJson(d.max_rel)},
          {"sqnr_db", std::isinf(d.sqnr_db) && d.sqnr_db > 0 ? Json(999.0) : NumberJson(d.sqnr_db)},
          {"cosine", NumberJson(d.cosine)},
          {"ok", judgement.ok}};
}

}  // namespace fettle::tools
