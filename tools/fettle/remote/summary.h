// One table of what several targets said.
#pragma once

#include <string>
#include <vector>

#include "io/json.h"

namespace fettle::tools {

/// One target's outcome.
struct RemoteRow {
  std::string target;
  int exit_code = 0;
  std::string error;    // why there is no document
  std::string package;  // where it lies here; empty where there is none
  Json document;        // what the command printed there
  int links = 0;        // made again
  double seconds = 0;
};

/// A line for each target; of `peak` a line for each ceiling and a column for each target.
std::string SummaryText(const std::string& command, const std::vector<RemoteRow>& rows);

/// {remotes[] {target, exit_code, error, package, links, seconds, document}}
Json SummaryJson(const std::vector<RemoteRow>& rows);

}  // namespace fettle::tools
