#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "av/pixels.h"
#include "basics/nearest.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

constexpr std::array kRows = {
    StepRow{"deinterlace", "makes whole frames of interlaced ones (2: of all)", 1, 1, 2, 1, 0,
            MakeDeinterlace},
    StepRow{"deblock", "removes traces of coding, by a network on luma", 1, 0, 1, 1, 0,
            MakeDeblock},
    StepRow{"denoise", "removes noise, by a network on luma", 1, 0, 1, 1, 0, MakeDenoise},
    StepRow{"interpolate", "adds a frame between each two, by motion", 1, 1, 1, 1, 0, nullptr},
    StepRow{"superres", "doubles the size, by a network on luma", 1, 0, 1, 2, 0, MakeSuperres},
    StepRow{"lowlight", "brightens dark scenes, by a table", 1, 0, 1, 1, 0, MakeLowLight},
    StepRow{"clarity", "removes haze, by a table", 1, 0, 1, 1, 0, MakeClarity},
    StepRow{"contrast", "adds contrast, by a table", 0.3, 0, 1, 1, 0, MakeContrast},
    StepRow{"sharpen", "sharpens detail, not noise or edges, by a table", 0.5, 0, 2, 1, 0,
            MakeSharpen},
    StepRow{"background-blur", "blurs what is behind people, whom a network finds", 1, 0, 2, 1, 0,
            MakeBackgroundBlur},
    StepRow{"privacy", "hides people, whom a network finds, and keeps the room", 1, 0.5, 4, 1, 0,
            MakePrivacy},
    StepRow{"privacy-head", "hides only heads, which a network finds", 1, 0.5, 4, 1, 0,
            MakePrivacyHead},
    StepRow{"deepen", "makes 10 bits a sample and smooths bands, by a table", 1, 0, 1, 1, 10,
            MakeDeepen},
    StepRow{"alert", "lists small phones in a file and frames them", 1, 0, 1, 1, 0, MakeAlert},
};

const StepRow& RowOf(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &StepRow::name);
  if (found != kRows.end()) return *found;
  std::vector<std::string> names;
  for (const StepRow& row : kRows) names.emplace_back(row.name);
  throw Failure(kExitUsage,
                fmt::format("--steps: unknown step '{}'{}", name, Alternatives(name, names)));
}

ChainLink ReadLink(std::string_view text) {
  const size_t equals = text.find('=');
  const StepRow& row = RowOf(text.substr(0, equals));
  if (equals == std::string_view::npos) return {&row, row.usual};
  const std::string_view digits = text.substr(equals + 1);
  double strength = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), strength);
  // In this form NaN is refused, too.
  const bool in_range = strength >= row.least && strength <= row.most;
  if (error != std::errc() || end != digits.data() + digits.size() || !in_range)
    throw Failure(kExitUsage, fmt::format("--steps: {}: expected a strength of {} to {}, got '{}'",
                                          row.name, row.least, row.most, digits));
  return {&row, strength};
}

std::vector<ChainLink>::const_iterator BetweenLink(const std::vector<ChainLink>& chain) {
  return std::ranges::find_if(chain,
                              [](const ChainLink& link) { return link.row->make == nullptr; });
}

/// Steps that stand in a chain once, and what must not come before one.
void CheckOrder(const std::vector<ChainLink>& chain) {
  if (chain.size() > 1 && chain.back().row->make == MakeDeinterlace)
    throw Failure(kExitUsage,
                  "--steps: deinterlace comes first, once: other steps take whole frames");
  if (MakesBetween(LinksAfter(chain)))
    throw Failure(kExitUsage, "--steps: a chain has interpolate at most once");
  if (chain.back().row->make != MakeAlert) return;
  if (FindLink(chain, MakeAlert) != &chain.back())
    throw Failure(kExitUsage, "--steps: a chain has alert at most once");
  if (MakesBetween(chain))
    throw Failure(kExitUsage,
                  "--steps: alert comes before interpolate: it looks at the input's frames, not at "
                  "made ones");
}

}  // namespace

std::span<const StepRow> StepRows() { return kRows; }

bool HidesPeople(const StepRow& row) {
  return row.make == MakePrivacy || row.make == MakePrivacyHead;
}

bool NeedsPeople(const StepRow& row) { return row.make == MakeBackgroundBlur || HidesPeople(row); }

std::vector<ChainLink> ReadChain(std::string_view text) {
  std::vector<ChainLink> chain;
  while (true) {
    const size_t comma = text.find(',');
    chain.push_back(ReadLink(text.substr(0, comma)));
    CheckOrder(chain);
    if (comma == std::string_view::npos) return chain;
    text.remove_prefix(comma + 1);
  }
}

const ChainLink* FindLink(const std::vector<ChainLink>& chain,
                          std::unique_ptr<Step> (*make)(const StepSetup&)) {
  const auto found =
      std::ranges::find_if(chain, [&](const ChainLink& link) { return link.row->make == make; });
  return found == chain.end() ? nullptr : &*found;
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

AVPixelFormat FormatOf(const std::vector<ChainLink>& chain, AVPixelFormat format) {
  for (const ChainLink& link : chain) format = WithDepth(format, link.row->depth);
  return format;
}

bool MakesBetween(const std::vector<ChainLink>& chain) {
  return std::ranges::any_of(chain,
                             [](const ChainLink& link) { return link.row->make == nullptr; });
}

std::vector<ChainLink> LinksBefore(const std::vector<ChainLink>& chain) {
  if (!MakesBetween(chain)) return {};
  return {chain.begin(), BetweenLink(chain)};
}

std::vector<ChainLink> LinksAfter(const std::vector<ChainLink>& chain) {
  if (!MakesBetween(chain)) return chain;
  return {BetweenLink(chain) + 1, chain.end()};
}

StepSetup SetupAfter(const std::vector<ChainLink>& links, StepSetup first) {
  for (const ChainLink& link : links) {
    first.width *= link.row->scale;
    first.height *= link.row->scale;
    first.scale *= link.row->scale;
    first.format = WithDepth(first.format, link.row->depth);
  }
  return first;
}

Chain::Chain(const std::vector<ChainLink>& links, StepSetup first,
             std::span<std::atomic<int64_t>> nanoseconds)
    : nanoseconds_(nanoseconds) {
  for (const ChainLink& link : links) {
    first.strength = link.strength;
    steps_.push_back(link.row->make(first));
    first = SetupAfter({link}, first);
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
