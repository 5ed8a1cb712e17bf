#include "page/page.h"

#include <algorithm>

#include "base/file.h"
#include "page/page_files.h"

namespace fettle::tools {
namespace {

constexpr std::string_view kLibrary = "d3.min.js";
constexpr std::string_view kReportScripts[] = {"common.js",  "roofline.js", "operators.js",
                                               "network.js", "history.js",  "report.js"};
constexpr std::string_view kSweepScripts[] = {"common.js", "sweep.js"};

std::string_view FileNamed(std::string_view name) {
  const auto files = PageFiles();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  return found == files.end() ? std::string_view() : found->text;
}

/// Puts `text` in the place of `mark`, which the frame has once.
void PutInPlace(std::string& page, std::string_view mark, std::string_view text) {
  if (const size_t at = page.find(mark); at != std::string::npos)
    page.replace(at, mark.size(), text);
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

/// JSON that may stand inside of a script element: no "<" is left in it, which only strings have.
std::string ScriptJson(const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

const PageKind kReportPage{.body = "report.html", .scripts = kReportScripts};
const PageKind kSweepPage{.body = "sweep.html", .scripts = kSweepScripts};

Status CheckPages() {
  if (!FileNamed(kLibrary).empty()) return OkStatus();
  return Unsupported(
      "this program was built without the plotting library of pages: install Debian's node-d3 "
      "(scripts/install-packages does) and build again");
}

Status WritePage(const std::string& path, const PageKind& kind, const std::string& title,
                 const Json& data) {
  RETURN_IF_ERROR(CheckPages());
  std::string page(FileNamed("page.html")), scripts;
  for (std::string_view name : kind.scripts) scripts += FileNamed(name);
  PutInPlace(page, "@BODY@", FileNamed(kind.body));
  // Contents last: they may hold anything.
  PutInPlace(page, "@STYLE@", FileNamed("page.css"));
  PutInPlace(page, "@NOTICE@", FileNamed("d3-licence.txt"));
  PutInPlace(page, "@SCRIPTS@", scripts);
  PutInPlace(page, "@LIBRARY@", FileNamed(kLibrary));
  PutInPlace(page, "@TITLE@", EscapeHtml(title));
  PutInPlace(page, "@DATA@", ScriptJson(data));
  return WriteTextFile(path, page);
}

}  // namespace fettle::tools
