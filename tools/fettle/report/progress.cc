#include "report/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "report/messages.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {
constexpr int64_t kRedrawNs = 100'000'000;
constexpr int kBarWidth = 24;
}  // namespace

Progress::Progress(std::string label, int64_t total)
    : label_(std::move(label)), total_(total), start_ns_(NowNs()), enabled_(TakesEscapeCodes()) {}

Progress::~Progress() {
  if (drawn_ns_ != 0) PrintMessage("\r\033[K");
}

void Progress::Update(int64_t done) {
  UpdateFraction(total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 0);
}

void Progress::UpdateFraction(double fraction) {
  if (!enabled_) return;
  const int64_t now = NowNs();
  if (now - drawn_ns_ < kRedrawNs) return;
  drawn_ns_ = now;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<size_t>(fraction * kBarWidth);
  const double elapsed = static_cast<double>(now - start_ns_) * 1e-9;
  const std::string left =
      fraction > 0.01 ? fmt::format("{:.0f} s left", elapsed * (1 - fraction) / fraction) : "";
  PrintMessage("\r\033[K{} [{}{}] {:3.0f} % {}", label_, std::string(filled, '#'),
               std::string(kBarWidth - filled, '.'), fraction * 100, left);
  std::fflush(stderr);
}

}  // namespace fettle::tools
