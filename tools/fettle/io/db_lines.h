// The tuning database as JSON lines: what `fettle db export` writes and `fettle db import` reads.
#pragma once

#include <iosfwd>
#include <string>

#include "base/status.h"
#include "report/report.h"
#include "tuner/store/database.h"

namespace fettle::tools {

std::string StatusName(tuner::Row::Status status);

/// One row as an object; infinite numbers are null.
Json RowJson(const tuner::RowRecord& record);

struct LineCounts {
  int64_t rows = 0, decisions = 0;
  /// Left out of an export: texts that are no UTF-8, which JSON cannot hold.
  int64_t unprintable = 0;
};

/// A header line, then one line for each row and decision.
Result<LineCounts> ExportLines(tuner::Database& database, std::ostream& out);

/// Adds all lines of `in`, or none: fails with kInvalidArgument on the first that is wrong, named
/// as `name`: line N. Where a key is there already the younger row stays; dates in the future count
/// as now.
Result<LineCounts> ImportLines(std::istream& in, const std::string& name,
                               tuner::Database& database);

}  // namespace fettle::tools
