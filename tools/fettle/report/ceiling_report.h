// Measured ceilings as tables, as JSON, as comma-separated lines, and beside earlier ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/json.h"
#include "kernels/ceiling.h"

namespace fettle::tools {

/// An earlier figure of each ceiling, by name.
struct BaseCeilings {
  std::string path;
  Json device;    // {kind, name ...}
  Json ceilings;  // [] {name, value ...}
};

/// What `peak --json` wrote. kInvalidArgument or kNotFound, naming the file, where it is no such
/// document.
Result<BaseCeilings> ReadBase(const std::string& path);
/// kUnsupported where the base is another device's than `device` ({kind, name}).
Status CheckBase(const BaseCeilings& base, const Json& device);

/// "ok", "unsupported" or "error".
std::string_view StatusWord(const Status& status);

/// The field `ceilings[]` of docs/cli.md. `device` is the fingerprint in which nominal figures are
/// found; `base` may be null.
Json CeilingsJson(std::span<const kernels::Ceiling> ceilings, std::string_view device,
                  const BaseCeilings* base);
/// One table for each group, with what was not measured and why below.
std::string CeilingsText(std::span<const kernels::Ceiling> ceilings, std::string_view device);
/// The same rows as CeilingsJson's: a header, and a line each.
std::string CeilingsCsv(const Json& ceilings);
/// Base, value and ratio of the rows that both have.
std::string ComparisonText(const Json& ceilings, const std::string& path);

/// How much the clock changed from the begin of measuring to its end, as a share of the higher;
/// 0 where it was not measured.
double ClockChange(std::span<const kernels::Ceiling> ceilings);

}  // namespace fettle::tools
