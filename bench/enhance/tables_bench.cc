// Milliseconds of each table step for a frame of 640x480, 8 bits, one thread, beside a copy of it:
// tables_bench [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "analysis/scene.h"
#include "picture/samples.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

/// A dark, veiled gradient with some grain.
FramePtr Picture() {
  FramePtr frame = NewFrame(AV_PIX_FMT_YUV420P, 640, 480);
  uint32_t state = 1;
  for (int plane = 0; plane < 3; ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    for (int y = 0; y < to.height; ++y)
      for (int x = 0; x < to.width; ++x) {
        state = state * 1664525 + 1013904223;
        to.row<uint8_t>(y)[x] =
            static_cast<uint8_t>(plane > 0 ? 120 + x % 16 : 50 + x / 32 + y / 48 + (state >> 29));
      }
  }
  return frame;
}

/// The median.
double Milliseconds(int rounds, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    times.push_back(taken.count());
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<size_t>(rounds) / 2];
}

/// More frames than caches hold, as in a pipeline.
constexpr size_t kFrames = 24;

void Measure(int rounds) {
  std::vector<FramePtr> frames;
  SceneTracker scenes;
  for (size_t i = 0; i < kFrames; ++i) {
    frames.push_back(Picture());
    scenes.Add(*frames.back());
  }
  size_t next = 0;
  const auto frame = [&]() -> const AVFrame& { return *frames[next++ % kFrames]; };
  fmt::print("copy      {:.3f} ms\n", Milliseconds(rounds, [&] {
               const AVFrame& from = frame();
               const FramePtr copy = NewFrameLike(from, 640, 480);
               CheckAv(av_frame_copy(copy.get(), &from), "a frame");
             }));
  fmt::print("scene     {:.3f} ms\n", Milliseconds(rounds, [&] {
               const FramePtr shared(av_frame_clone(&frame()));
               SceneTracker().Add(*shared);
             }));
  for (const char* name : {"lowlight", "clarity", "contrast", "sharpen", "deepen"}) {
    StepSetup setup{.format = AV_PIX_FMT_YUV420P, .width = 640, .height = 480};
    const ChainLink link = ReadChain(name).front();
    setup.strength = link.strength;
    const auto step = link.row->make(setup);
    fmt::print("{:9} {:.3f} ms\n", name,
               Milliseconds(rounds, [&] { step->Apply(FramePtr(av_frame_clone(&frame()))); }));
  }
}

}  // namespace
}  // namespace fettle::enhance

int main(int argc, char** argv) { fettle::enhance::Measure(argc > 1 ? std::atoi(argv[1]) : 200); }
