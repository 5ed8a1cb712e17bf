#include "analysis/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "tables/formulas.h"

namespace fettle::enhance {
namespace {

/// Up to here deblock gained less than 0.1 dB on the clips of its model card.
constexpr double kCoarseLevel = 26;
/// Where the decoder is silent, blocks that can be seen speak for it.
constexpr double kVisibleBlocks = 1.3;
/// Sigma of noise that is worth an own step.
constexpr double kNoisy = 2.5;
/// Share of two-level blocks from which on a video is a recorded screen.
constexpr double kScreen = 0.2;
/// Levels between the 5th and the 95th percentile of a flat picture, and of none.
constexpr double kFlat = 90, kNoPicture = 20;
/// Mean light of a dark scene, and the level of the darkest hundredth behind a veil.
constexpr double kDark = 60, kVeil = 45;
/// What the largest usual display shows.
constexpr int kMostWidth = 3840, kMostHeight = 2160;

struct Size {
  int width, height;
};

/// "2 of 5 places": those that `are` something, which alone are left.
std::string Count(std::vector<Measures>& places, const Survey& survey,
                  bool (*are)(const Measures&)) {
  std::erase_if(places, std::not_fn(are));
  return fmt::format("{} of {} places", places.size(), survey.samples.size());
}

Advice Deinterlace(const Survey& survey, Size) {
  const Measures& all = survey.all;
  return {"deinterlace", all.interlaced > 0,
          fmt::format("{} of {} frames are marked as interlaced", all.interlaced, all.frames)};
}

Advice Deblock(const Survey& survey, Size) {
  const Measures& all = survey.all;
  if (all.level_told) {
    std::vector<Measures> coarse = survey.samples;
    const std::string count =
        Count(coarse, survey, [](const Measures& place) { return place.level >= kCoarseLevel; });
    return {"deblock", !coarse.empty(),
            fmt::format("{}: {} have {:g} or coarser", LevelText(all), count, kCoarseLevel)};
  }
  const bool taken = all.blockiness >= kVisibleBlocks;
  return {"deblock", taken,
          fmt::format("{} gives no quantiser, and steps at blocks are {:.2f} times the others{}",
                      survey.codec, all.blockiness, taken ? "" : ": they hardly show")};
}

Advice Denoise(const Survey& survey, Size) {
  const Measures& all = survey.all;
  if (all.screen >= kScreen) return {"denoise", false, "a recorded screen has no noise"};
  std::vector<Measures> noisy = survey.samples;
  const std::string count =
      Count(noisy, survey, [](const Measures& place) { return place.noise >= kNoisy; });
  const std::string sigma = fmt::format("sigma {:.1f} of noise on flat parts: {} have {:g} or more",
                                        all.noise, count, kNoisy);
  const bool is_noisy = !noisy.empty();
  std::erase_if(noisy, [](const Measures& place) {
    return place.level_told && place.level >= kCodingHidesNoise;
  });
  if (!is_noisy || !noisy.empty()) return {"denoise", !noisy.empty(), sigma};
  return {"denoise", false, sigma + ", but deblock removes what such coding leaves of it"};
}

Advice Superres(const Survey&, Size size) {
  if (2 * size.width > kMostWidth || 2 * size.height > kMostHeight)
    return {"superres", false,
            fmt::format("twice {}x{} is more than {}x{}", size.width, size.height, kMostWidth,
                        kMostHeight)};
  return {"superres", true, fmt::format("twice the size is within {}x{}", kMostWidth, kMostHeight)};
}

/// The scene that a place of the survey stands for.
Scene SceneAt(const Measures& place) {
  return {.light = place.light, .black = place.black, .white = place.white};
}

/// Places that show a picture which is no recorded screen.
std::vector<Measures> Pictures(const Survey& survey) {
  std::vector<Measures> places;
  std::ranges::copy_if(survey.samples, std::back_inserter(places), [](const Measures& place) {
    return place.screen < kScreen && place.white - place.black >= kNoPicture;
  });
  return places;
}

Advice LowLight(const Survey& survey, Size) {
  std::vector<Measures> dark = Pictures(survey);
  const std::string count =
      Count(dark, survey, [](const Measures& place) { return place.light < kDark; });
  const std::string reason = fmt::format("light of {} is below {:g} of 255", count, kDark);
  if (dark.empty()) return {"lowlight", false, reason};
  const auto darkest = std::ranges::min(dark, {}, &Measures::light);
  return {"lowlight", true,
          fmt::format("{}: {:.0f} becomes {:.0f}; lighter scenes pass", reason, darkest.light,
                      LightAfter(SceneAt(darkest), {}, 1))};
}

Advice Clarity(const Survey& survey, Size) {
  std::vector<Measures> veiled = Pictures(survey);
  const std::string count = Count(veiled, survey, [](const Measures& place) {
    return place.black >= kVeil && place.light >= kDark;
  });
  const std::string reason =
      fmt::format("the darkest hundredth of {} is lighter than {:g}", count, kVeil);
  if (veiled.empty()) return {"clarity", false, reason};
  const auto worst = std::ranges::max(veiled, {}, &Measures::black);
  return {"clarity", true,
          fmt::format("{}: haze up to {:.0f}; clear scenes pass", reason, worst.black)};
}

Advice Contrast(const Survey& survey, Size) {
  const Measures& all = survey.all;
  const std::string range =
      fmt::format("nine tenths of the pixels span {:.0f} levels of 255", all.contrast);
  const bool judged = all.contrast >= kNoPicture && all.light >= kDark && all.screen < kScreen;
  if (judged && all.contrast < kFlat && all.black < kVeil)
    return {"contrast", true, range + ": flat, without haze"};
  return {"contrast", false, range + (judged ? "" : ": dark, empty or a screen")};
}

constexpr Advice (*kRules[])(const Survey&, Size) = {Deinterlace, Deblock,  Denoise, LowLight,
                                                     Clarity,     Contrast, Superres};

}  // namespace

std::string LevelText(const Measures& measures) {
  return fmt::format("level {:.1f} of the quantiser, {}", measures.level,
                     measures.level_told ? "by its decoder" : "guessed from its bits");
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
    throw Failure(kExitUsage, "nothing is advised for this input; choose steps with --steps");
  return chain;
}

}  // namespace fettle::enhance
