#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "basics/nearest.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

constexpr std::array kRows = {
    StepRow{"deblock", "traces of coding removed by a network on luma", 1, 0, 1, 1, MakeDeblock},
    StepRow{"denoise", "noise removed by a network on luma", 1, 0, 1, 1, MakeDenoise},
    StepRow{"superres", "twice the size by a network on luma", 1, 0, 1, 2, MakeSuperres},
    StepRow{"sharpen", "detail by a table, noise and edges left", 0.5, 0, 2, 1, MakeSharpen},
    StepRow{"contrast", "depth by a curve as a table", 0.3, 0, 1, 1, MakeContrast},
};

const StepRow& RowOf(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &StepRow::name);
  if (found != kRows.end()) return *found;
  std::vector<std::string> names;
  for (const StepRow& row : kRows) names.emplace_back(row.name);
  throw Failure(kExitUsage, fmt::format("--steps: there is no step '{}', did you mean '{}'? ({})",
                                        name, NearestOf(name, names), fmt::join(names, ", ")));
}

ChainLink ReadLink(std::string_view text) {
  const size_t equals = text.find('=');
  const StepRow& row = RowOf(text.substr(0, equals));
  if (equals == std::string_view::npos) return {&row, row.usual};
  const std::string_view digits = text.substr(equals + 1);
  double strength = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), strength);
  if (error != std::errc() || end != digits.data() + digits.size() || strength < row.least ||
      strength > row.most)
    throw Failure(kExitUsage, fmt::format("--steps: {}: expected a strength of {} to {}, got '{}'",
                                          row.name, row.least, row.most, digits));
  return {&row, strength};
}

}  // namespace

std::span<const StepRow> StepRows() { return kRows; }

std::vector<ChainLink> ReadChain(std::string_view text) {
  std::vector<ChainLink> chain;
  while (true) {
    const size_t comma = text.find(',');
    chain.push_back(ReadLink(text.substr(0, comma)));
    if (comma == std::string_view::npos) return chain;
    text.remove_prefix(comma + 1);
  }
}

std::string TextOf(const std::vector<ChainLink>& chain) {
  std::vector<std::string> links;
  for (const ChainLink& link : chain)
    links.push_back(fmt::format("{}={:g}", link.row->name, link.strength));
  return fmt::format("{}", fmt::join(links, ","));
}

int ScaleOf(const std::vector<ChainLink>& chain) {
  int scale = 1;
  for (const ChainLink& link : chain) scale *= link.row->scale;
  return scale;
}

Chain::Chain(const std::vector<ChainLink>& links, StepSetup first,
             std::vector<std::atomic<int64_t>>& nanoseconds)
    : nanoseconds_(nanoseconds) {
  for (const ChainLink& link : links) {
    first.strength = link.strength;
    steps_.push_back(link.row->make(first));
    first.width *= link.row->scale;
    first.height *= link.row->scale;
  }
}

FramePtr Chain::Apply(FramePtr frame) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto start = Clock::now();
    frame = steps_[i]->Apply(std::move(frame));
    nanoseconds_[i] += std::chrono::nanoseconds(Clock::now() - start).count();
  }
  return frame;
}

}  // namespace fettle::enhance
