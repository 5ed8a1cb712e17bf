// The tuning database as JSON lines: what `fettle db export` writes and `fettle db import` reads.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/status.h"
#include "report/report.h"
#include "tuner/store/database.h"

namespace fettle::tools {

std::string StatusName(tuner::Row::Status status);

/// One row as an object; infinite numbers are null. What is no time (tuner::IsTimed) has fields of
/// its own, with a unit.
Json RowJson(const tuner::RowRecord& record);

struct LineCounts {
  int64_t rows = 0, decisions = 0;
  /// Left out of an export: texts that are no UTF-8, which JSON cannot hold.
  int64_t unprintable = 0;
  /// Lines that were not imported, and the first of them by name and number with the reason.
  int64_t refused = 0;
  std::vector<std::string> warnings;
};

/// A header line, then one line for each row and decision.
Result<LineCounts> ExportLines(tuner::Database& database, std::ostream& out);

/// Adds the lines of `in`; one that is wrong costs itself, and is counted and named as `name`: line
/// N. Fails with kInvalidArgument, adding nothing, where the first line is no header or all others
/// are wrong. Where a key is there already the younger row stays; dates in the future count as now.
Result<LineCounts> ImportLines(std::istream& in, const std::string& name,
                               tuner::Database& database);

}  // namespace fettle::tools
