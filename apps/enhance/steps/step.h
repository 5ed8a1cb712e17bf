// What is done to frames: a chain of steps, each a row of the table in steps.cc.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "av/av.h"
#include "picture/deinterlacer.h"

namespace fettle::enhance {

/// Frames as a step gets them.
struct StepSetup {
  AVPixelFormat format = AV_PIX_FMT_NONE;  // planar YUV
  int width = 0, height = 0;
  double strength = 1;
  bool full_range = false;
  std::string network;  // of --network, resolved
  /// Of the quantiser where a frame does not tell its own (picture/level.h), and of all frames
  /// without `own_levels`.
  double level = 0;
  bool own_levels = false;
  double noise = 0;           // sigma of luma, of 255, where `own_noise` is not set
  bool own_noise = false;     // of each scene (analysis/scene.h)
  bool dither = false;        // what tables round
  int turns = 0;              // quarters clockwise that frames are shown turned by
  int scale = 1;              // of the frames beside the input's
  double least_score = 0;     // of what alert finds
  bool whole_frames = false;  // deinterlaced before the steps
};

/// Belongs to one thread; the chain has one for each of its workers.
class Step {
 public:
  virtual ~Step() = default;
  /// Takes a frame, gives the one that takes its place, with its properties. Throws Failure.
  virtual FramePtr Apply(FramePtr frame) = 0;
};

struct StepRow {
  std::string_view name, what;
  double usual, least, most;  // strength
  int scale;                  // of the width and the height
  int depth;                  // of the result's samples where they had less; 0: as they were
  std::unique_ptr<Step> (*make)(const StepSetup&);  // none: between frames (motion/between.h)
};
std::span<const StepRow> StepRows();

std::unique_ptr<Step> MakeDeinterlace(const StepSetup& setup);
std::unique_ptr<Step> MakeSuperres(const StepSetup& setup);
std::unique_ptr<Step> MakeDeblock(const StepSetup& setup);
std::unique_ptr<Step> MakeDenoise(const StepSetup& setup);
std::unique_ptr<Step> MakeLowLight(const StepSetup& setup);
std::unique_ptr<Step> MakeClarity(const StepSetup& setup);
std::unique_ptr<Step> MakeContrast(const StepSetup& setup);
std::unique_ptr<Step> MakeSharpen(const StepSetup& setup);
std::unique_ptr<Step> MakeDeepen(const StepSetup& setup);
std::unique_ptr<Step> MakeBackgroundBlur(const StepSetup& setup);
std::unique_ptr<Step> MakePrivacy(const StepSetup& setup);
std::unique_ptr<Step> MakePrivacyHead(const StepSetup& setup);
std::unique_ptr<Step> MakeAlert(const StepSetup& setup);

/// How much of deblock's answer is taken: none up to a level of 24, where it may be worse than what
/// was decoded, all from 28 on.
double DeblockShare(double level);

/// How much of denoise's answer is taken: none below a sigma of 0.5, all from 1.5 on.
double DenoiseShare(double sigma);
/// From this level on deblock removes what coding has left of noise.
inline constexpr double kCodingHidesNoise = 28;

/// Whether a step is told where people are, and whether it hides them.
bool NeedsPeople(const StepRow& row);
bool HidesPeople(const StepRow& row);

/// A step of a chain and its strength.
struct ChainLink {
  const StepRow* row = nullptr;
  double strength = 1;
};

/// "superres,sharpen=0.8". Throws Failure (kExitUsage) and names the nearest step.
std::vector<ChainLink> ReadChain(std::string_view text);
/// The link of the step that `make` makes; null where the chain has none.
const ChainLink* FindLink(const std::vector<ChainLink>& chain,
                          std::unique_ptr<Step> (*make)(const StepSetup&));
/// What makes whole frames before the steps; none where the chain does not.
std::optional<Deinterlacer> DeinterlacerOf(const std::vector<ChainLink>& chain);
/// The same with all strengths, which ReadChain takes.
std::string TextOf(const std::vector<ChainLink>& chain);
int ScaleOf(const std::vector<ChainLink>& chain);
/// Whether one frame is made between each two, and the links before and after that step: without it
/// all of them are after it.
bool MakesBetween(const std::vector<ChainLink>& chain);
std::vector<ChainLink> LinksBefore(const std::vector<ChainLink>& chain);
std::vector<ChainLink> LinksAfter(const std::vector<ChainLink>& chain);
/// Of the chain's results.
AVPixelFormat FormatOf(const std::vector<ChainLink>& chain, AVPixelFormat format);

/// The setup of the step after `links`.
StepSetup SetupAfter(const std::vector<ChainLink>& links, StepSetup first);

/// One worker's steps, and the time that each took, which all workers add to, from `nanoseconds[0]`
/// on. No link may be one between frames.
class Chain {
 public:
  Chain(const std::vector<ChainLink>& links, StepSetup first,
        std::span<std::atomic<int64_t>> nanoseconds);
  FramePtr Apply(FramePtr frame);

 private:
  std::vector<std::unique_ptr<Step>> steps_;
  std::span<std::atomic<int64_t>> nanoseconds_;
};

}  // namespace fettle::enhance
