// libfettle_enhance: frames in, frames out (include/fettle/enhance.h).
#include <fettle/enhance.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fettle/fettle.hpp>
#include <optional>
#include <string>

#include "analysis/scene.h"
#include "library/frames.h"
#include "live/ladder.h"
#include "live/live_plan.h"
#include "steps/networks.h"

struct fettle_enhancer {
  fettle_pixels pixels = FETTLE_I420;
  AVPixelFormat format = AV_PIX_FMT_NONE;
  fettle::enhance::StepSetup first;
  fettle::enhance::LadderResult result;
  std::vector<fettle::enhance::Rung> rungs;
  std::optional<fettle::enhance::RungChains> chains;
  std::optional<fettle::enhance::Ladder> ladder;
  std::optional<fettle::enhance::Converter> converter;
  std::optional<fettle::enhance::SceneTracker> tracker;
  fettle_enhancer_facts facts = {sizeof(fettle_enhancer_facts), 0, 0, 0, 0};
};

namespace fettle::enhance {
namespace {

thread_local std::string last_error;

fettle_status Failed(fettle_status status, const std::string& message) {
  last_error = message;
  return status;
}

/// Nothing is thrown through the interface.
template <typename Do>
fettle_status Guarded(Do&& run) {
  try {
    run();
    return FETTLE_OK;
  } catch (const Failure& failure) {
    return Failed(failure.status(), failure.what());
  } catch (const fettle::Error& error) {
    return Failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return Failed(FETTLE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return Failed(FETTLE_INTERNAL, error.what());
  }
}

void CheckStruct(size_t size, size_t least, const char* name) {
  if (size < least)
    throw Failure(kExitUsage,
                  fmt::format("{}.struct_size is {}, and the struct has {}", name, size, least));
}

void CheckSize(int32_t width, int32_t height) {
  constexpr int kMost = 16384;
  if (width < 1 || height < 1 || width > kMost || height > kMost)
    throw Failure(kExitUsage, fmt::format("frames of {}x{}; there are 1x1 to {}x{}", width, height,
                                          kMost, kMost));
}

/// NaN is none of them.
void CheckNumbers(const fettle_enhancer_options& options) {
  const std::pair<const char*, double> numbers[] = {{"latency_ms", options.latency_ms},
                                                    {"level", options.level}};
  for (const auto& [name, value] : numbers)
    if (!(value >= 0))
      throw Failure(kExitUsage, fmt::format("options.{} is {}; it is 0 or more", name, value));
}

std::string NetworkOf(const fettle_enhancer_options& options) {
  const std::vector<std::string> known = NetworkChoices();
  const std::string name = options.network == nullptr ? known.front() : options.network;
  if (std::ranges::find(known, name) == known.end())
    throw Failure(kExitUsage,
                  fmt::format("unknown network '{}'; there are fast, good and best", name));
  return name;
}

void Fill(const fettle_enhancer_options& options, int width, int height, fettle_enhancer& made) {
  CheckNumbers(options);
  const std::vector<ChainLink> chain =
      ReadChain(options.steps == nullptr ? "superres" : options.steps);
  CheckLiveSteps(chain);
  StepSetup& first = made.first;
  first.format = WorkingFormat(made.format, false);
  first.width = width;
  first.height = height;
  const bool rgb = av_pix_fmt_desc_get(made.format)->flags & AV_PIX_FMT_FLAG_RGB;
  first.full_range = options.full_range != 0 && !rgb;
  constexpr double kUsualLevel = 32;
  first.level = options.level > 0 ? options.level : kUsualLevel;
  first.own_noise = FindLink(chain, MakeDenoise) != nullptr;
  // Results are of the caller's pixels, unless a step makes more bits.
  const AVPixelFormat made_format = FormatOf(chain, first.format);
  const int scale = ScaleOf(chain);
  made.result = {made_format == first.format ? made.format : made_format, width * scale,
                 height * scale};
  (void)PixelsOfFormat(made.result.format);
  made.rungs = RungsOf(chain, NetworkOf(options));
  made.chains.emplace(made.rungs, first, made.result);
  if (options.latency_ms > 0) MeasureRungs(made.rungs, first, *made.chains);
  made.ladder.emplace(made.rungs, options.latency_ms, 0, 1);
  made.converter.emplace(first.format, width, height);
  made.tracker.emplace(first.own_noise);
  if (!(options.latency_ms > 0))
    made.chains->Apply(0, ZeroFrame(first.format, width, height));  // plans and allocates
}

void CheckFrame(const fettle_enhancer& enhancer, const fettle_frame& frame) {
  CheckStruct(frame.struct_size, sizeof(fettle_frame), "frame");
  if (frame.pixels != enhancer.pixels || frame.width != enhancer.first.width ||
      frame.height != enhancer.first.height)
    throw Failure(
        kExitUsage,
        fmt::format("a frame of {}x{} and pixels {}, and this enhancer is of {}x{} and "
                    "pixels {}; make another one for it",
                    frame.width, frame.height, static_cast<int>(frame.pixels), enhancer.first.width,
                    enhancer.first.height, static_cast<int>(enhancer.pixels)));
}

void Run(fettle_enhancer& enhancer, const fettle_frame& frame, fettle_frame& result) {
  const auto arrived = Ladder::Clock::now();
  CheckFrame(enhancer, frame);
  FramePtr own = Borrowed(frame);
  own->color_range = enhancer.first.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED;
  // A view that lives as long as the call, to see what the result shares with it.
  const FramePtr view(av_frame_clone(own.get()));
  if (view == nullptr) throw std::bad_alloc();
  const bool converted = enhancer.first.format != enhancer.format;
  // What converts and scales reads behind rows: copies have room there.
  if (converted) own = enhancer.converter->Convert(Copied(*own));
  enhancer.tracker->Add(*own);
  const size_t rung = enhancer.ladder->Choose(arrived);
  // With fewer steps the frame itself may be scaled.
  const bool copied = converted || rung > 0;
  if (copied && !converted) own = Copied(*own);
  const auto start = Ladder::Clock::now();
  own = enhancer.chains->Apply(rung, std::move(own));
  enhancer.ladder->Took(
      rung, std::chrono::duration<double, std::milli>(Ladder::Clock::now() - start).count());
  const bool shares = SharesPlanes(*own, *view);
  if (shares) own = Copied(*own);
  ++enhancer.facts.frames;
  enhancer.facts.reduced += rung > 0 ? 1 : 0;
  enhancer.facts.copied_in += copied ? 1 : 0;
  enhancer.facts.copied_out += shares || converted ? 1 : 0;
  Lend(std::move(own), PixelsOfFormat(enhancer.result.format), frame.time, result);
}

}  // namespace
}  // namespace fettle::enhance

using fettle::enhance::CheckStruct;
using fettle::enhance::Failure;
using fettle::enhance::Guarded;

const char* fettle_enhancer_error(void) { return fettle::enhance::last_error.c_str(); }

fettle_status fettle_enhancer_create(fettle_pixels pixels, int32_t width, int32_t height,
                                     const fettle_enhancer_options* options,
                                     fettle_enhancer** enhancer) {
  return Guarded([&] {
    if (enhancer == nullptr) throw Failure(fettle::enhance::kExitUsage, "enhancer is NULL");
    const fettle_enhancer_options usual = FETTLE_ENHANCER_OPTIONS_INIT;
    if (options == nullptr) options = &usual;
    CheckStruct(options->struct_size, sizeof usual, "options");
    fettle::enhance::CheckSize(width, height);
    auto made = std::make_unique<fettle_enhancer>();
    made->pixels = pixels;
    made->format = fettle::enhance::FormatOfPixels(pixels);
    fettle::enhance::Fill(*options, width, height, *made);
    *enhancer = made.release();
  });
}

void fettle_enhancer_free(fettle_enhancer* enhancer) { delete enhancer; }

fettle_status fettle_enhancer_result(const fettle_enhancer* enhancer, fettle_frame* result) {
  return Guarded([&] {
    if (enhancer == nullptr || result == nullptr)
      throw Failure(fettle::enhance::kExitUsage, "enhancer or result is NULL");
    CheckStruct(result->struct_size, sizeof *result, "result");
    fettle_frame shape = FETTLE_FRAME_INIT;
    shape.pixels = fettle::enhance::PixelsOfFormat(enhancer->result.format);
    shape.width = enhancer->result.width;
    shape.height = enhancer->result.height;
    *result = shape;
  });
}

fettle_status fettle_enhancer_run(fettle_enhancer* enhancer, const fettle_frame* frame,
                                  fettle_frame* result) {
  return Guarded([&] {
    if (enhancer == nullptr || frame == nullptr || result == nullptr)
      throw Failure(fettle::enhance::kExitUsage, "enhancer, frame or result is NULL");
    CheckStruct(result->struct_size, sizeof *result, "result");
    fettle::enhance::Run(*enhancer, *frame, *result);
  });
}

void fettle_frame_release(fettle_frame* result) {
  if (result == nullptr || result->owner == nullptr) return;
  auto* frame = static_cast<AVFrame*>(result->owner);
  av_frame_free(&frame);
  *result = FETTLE_FRAME_INIT;
}

fettle_status fettle_enhancer_reset(fettle_enhancer* enhancer) {
  return Guarded([&] {
    if (enhancer == nullptr) throw Failure(fettle::enhance::kExitUsage, "enhancer is NULL");
    enhancer->tracker.emplace(enhancer->first.own_noise);
  });
}

fettle_status fettle_enhancer_facts_of(const fettle_enhancer* enhancer,
                                       fettle_enhancer_facts* facts) {
  return Guarded([&] {
    if (enhancer == nullptr || facts == nullptr)
      throw Failure(fettle::enhance::kExitUsage, "enhancer or facts is NULL");
    CheckStruct(facts->struct_size, sizeof *facts, "facts");
    *facts = enhancer->facts;
  });
}
