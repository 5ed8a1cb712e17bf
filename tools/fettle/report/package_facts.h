// What a package says of itself, for `inspect`.
#pragma once

#include <string>

#include "report/report.h"
#include "runtime/package/package.h"

namespace fettle::tools {

/// {version, build, device, device_name, threads, created, default_ms, measured_ms, predicted_ms,
/// measurements, seed, packed {count, bytes}, decisions[] {structure, graph, device, threads,
/// groups, conversions}}; times that are not known are null.
Json PackageJson(const runtime::Package& package);
/// The same as lines for people.
std::string PackageText(const runtime::Package& package);

}  // namespace fettle::tools
