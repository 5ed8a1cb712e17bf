// Self-contained HTML pages: data, style, scripts and the plotting library in one file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "io/json.h"

namespace fettle::tools {

/// What a page is made of, by the names of files of this folder.
struct PageKind {
  std::string_view body;                      // between what all pages begin and end with
  std::span<const std::string_view> scripts;  // in the order in which they run
};
extern const PageKind kReportPage, kSweepPage;

/// OK, or kUnsupported with what was not installed when the program was built.
Status CheckPages();

/// Writes the page to `path`, whole or not at all. `data` is what its scripts show. It refers to no
/// other file and asks no network. Fails as CheckPages and as WriteTextFile do.
Status WritePage(const std::string& path, const PageKind& kind, const std::string& title,
                 const Json& data);

}  // namespace fettle::tools
