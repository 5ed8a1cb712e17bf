#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "basics/messages.h"
#include "report/report.h"

namespace fettle::enhance {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool TakesEscapeCodes() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && term != nullptr && std::string_view(term) != "dumb" &&
         std::getenv("NO_COLOR") == nullptr;
}

std::string Clock(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

ProgressLine::ProgressLine(const Plan& plan)
    : plan_(plan), enabled_(TakesEscapeCodes()), start_(Now()) {}

ProgressLine::~ProgressLine() {
  if (drawn_) PrintMessage("\r\033[K");
}

void ProgressLine::Show(int64_t done, int64_t resumed, const SceneLog& scenes) {
  if (!enabled_) return;
  drawn_ = true;
  const double speed = static_cast<double>(done - resumed) / std::max(Now() - start_, 1e-3);
  std::string text = fmt::format("{} frames", done);
  if (plan_.expected_frames > 0) text += fmt::format(" of {}", plan_.expected_frames);
  const bool begun = done > resumed;
  if (begun) text += fmt::format(" · {:.1f} frames/s", speed);
  if (begun && plan_.seconds > 0 && plan_.expected_frames > 0) {
    const int64_t left = std::max<int64_t>(0, plan_.expected_frames - done);
    text += fmt::format(" · {:.2f} of real time · {} left",
                        speed * plan_.seconds / static_cast<double>(plan_.expected_frames),
                        Clock(scenes.SecondsFor(left)));
  }
  if (isatty(STDIN_FILENO)) text += " · q stops";
  PrintMessage("\r\033[K{}", text);
  std::fflush(stderr);
}

}  // namespace fettle::enhance
