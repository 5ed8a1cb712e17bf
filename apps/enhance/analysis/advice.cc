#include "analysis/advice.h"

#include <fmt/format.h>

namespace fettle::enhance {
namespace {

/// Up to here deblock gained less than 0.1 dB on the clips of its model card.
constexpr double kCoarseLevel = 26;
/// Where the decoder is silent, blocks that can be seen speak for it.
constexpr double kVisibleBlocks = 1.3;
/// Sigma of noise that is worth an own step, and what deblock removes along the way.
constexpr double kNoisy = 2.5, kCodingHidesNoise = 28;
/// Share of two-level blocks from which on a video is a recorded screen.
constexpr double kScreen = 0.2;
/// Levels between the 5th and the 95th percentile of a picture behind a veil.
constexpr double kVeiled = 90, kNoPicture = 20, kDark = 50;
/// What the largest usual display shows.
constexpr int kMostWidth = 3840, kMostHeight = 2160;

struct Size {
  int width, height;
};

Advice Deblock(const Survey& survey, Size) {
  const Measures& all = survey.all;
  if (all.level_told) {
    const bool taken = all.level >= kCoarseLevel;
    return {"deblock", taken,
            fmt::format("{}: {:g} {}", LevelText(all), kCoarseLevel,
                        taken ? "or coarser" : "is not reached")};
  }
  const bool taken = all.blockiness >= kVisibleBlocks;
  return {"deblock", taken,
          fmt::format("{} tells no quantiser, and steps at blocks are {:.2f} times others{}",
                      survey.codec, all.blockiness, taken ? "" : ": they hardly show")};
}

Advice Denoise(const Survey& survey, Size) {
  const Measures& all = survey.all;
  const std::string sigma = fmt::format("sigma {:.1f} of noise on flat parts", all.noise);
  if (all.screen >= kScreen) return {"denoise", false, "a recorded screen has no noise"};
  if (all.noise < kNoisy)
    return {"denoise", false, sigma + fmt::format(": less than {:g}", kNoisy)};
  if (all.level_told && all.level >= kCodingHidesNoise)
    return {"denoise", false, sigma + ", but deblock removes what such coding leaves of it"};
  return {"denoise", true, sigma + fmt::format(": {:g} or more", kNoisy)};
}

Advice Superres(const Survey&, Size size) {
  if (2 * size.width > kMostWidth || 2 * size.height > kMostHeight)
    return {"superres", false,
            fmt::format("twice {}x{} is more than {}x{}", size.width, size.height, kMostWidth,
                        kMostHeight)};
  return {"superres", true, fmt::format("twice the size is within {}x{}", kMostWidth, kMostHeight)};
}

Advice Contrast(const Survey& survey, Size) {
  const Measures& all = survey.all;
  const std::string range =
      fmt::format("nine tenths of the pixels span {:.0f} levels of 255", all.contrast);
  const bool judged = all.contrast >= kNoPicture && all.light >= kDark && all.screen < kScreen;
  if (judged && all.contrast < kVeiled) return {"contrast", true, range + ": a veil"};
  return {"contrast", false, range + (judged ? "" : ": dark, empty or a screen")};
}

constexpr Advice (*kRules[])(const Survey&, Size) = {Deblock, Denoise, Superres, Contrast};

}  // namespace

std::string LevelText(const Measures& measures) {
  return fmt::format("level {:.1f} of the quantiser, {}", measures.level,
                     measures.level_told ? "as its decoder tells" : "guessed from its bits");
}

std::vector<Advice> AdviceFor(const Survey& survey, int width, int height) {
  std::vector<Advice> advice;
  for (const auto& rule : kRules) advice.push_back(rule(survey, {width, height}));
  return advice;
}

std::vector<ChainLink> ChainOf(const std::vector<Advice>& advice) {
  std::vector<ChainLink> chain;
  for (const Advice& one : advice) {
    if (!one.taken) continue;
    const std::vector<ChainLink> link = ReadChain(one.step);
    chain.insert(chain.end(), link.begin(), link.end());
  }
  if (chain.empty())
    throw Failure(kExitUsage, "nothing is advised for this input; name what is wanted by --steps");
  return chain;
}

}  // namespace fettle::enhance
