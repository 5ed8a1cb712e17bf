// Milliseconds of each table step for a frame of 640x480, 8 bits, one thread, in turn with a copy
// of it: tables_bench [ROUNDS]
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
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

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// What is measured: makes a frame of a frame.
struct Row {
  std::string name;
  std::function<FramePtr(const AVFrame&)> make;
  std::vector<double> times;
};

double MedianOf(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

void Run(int rounds, size_t kept, const std::vector<FramePtr>& frames, std::vector<Row>& rows) {
  std::vector<FramePtr> results(kept);
  size_t turn = 0;
  for (int i = 0; i < rounds; ++i)
    for (Row& row : rows) {
      const AVFrame& from = *frames[turn % frames.size()];
      const auto start = Clock::now();
      results[turn % kept] = row.make(from);
      row.times.push_back(Milliseconds(Clock::now() - start).count());
      ++turn;
    }
}

FramePtr Copy(const AVFrame& from) {
  FramePtr copy = NewFrameLike(from, from.width, from.height);
  CheckAv(av_frame_copy(copy.get(), &from), "a frame");
  return copy;
}

FramePtr Follow(const AVFrame& from) {
  FramePtr shared(av_frame_clone(&from));
  SceneTracker().Add(*shared);
  return shared;
}

std::vector<Row> Rows() {
  std::vector<Row> rows = {{.name = "copy", .make = Copy, .times = {}},
                           {.name = "scene", .make = Follow, .times = {}}};
  for (const char* name : {"lowlight", "clarity", "contrast", "sharpen", "deepen"}) {
    StepSetup setup{.format = AV_PIX_FMT_YUV420P, .width = 640, .height = 480};
    const ChainLink link = ReadChain(name).front();
    setup.strength = link.strength;
    const std::shared_ptr<Step> step = link.row->make(setup);
    rows.push_back(
        {.name = name,
         .make =
             [step](const AVFrame& from) { return step->Apply(FramePtr(av_frame_clone(&from))); },
         .times = {}});
  }
  return rows;
}

/// `count` frames in turn, of whose results `kept` are alive at any time.
void Measure(int rounds, size_t count, size_t kept) {
  std::vector<FramePtr> frames;
  SceneTracker scenes;
  for (size_t i = 0; i < count; ++i) {
    frames.push_back(Picture());
    scenes.Add(*frames.back());
  }
  std::vector<Row> rows = Rows();
  Run(rounds, kept, frames, rows);
  const double copy = MedianOf(rows.front().times);
  fmt::print("{} frames in turn, {} results alive\n", count, kept);
  for (const Row& row : rows)
    fmt::print("{:9} {:.4f} ms {:6.2f} copies\n", row.name, MedianOf(row.times),
               MedianOf(row.times) / copy);
}

}  // namespace
}  // namespace fettle::enhance

int main(int argc, char** argv) {
  // Freed frames are kept, as in a job that has gone on for a while: no turn waits for new pages.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  using fettle::enhance::Measure;
  Measure(rounds, 1, 1);     // from and to the second-level cache
  Measure(rounds, 24, 18);   // from and to the third: frames of full queues
  Measure(rounds, 200, 18);  // from memory
  return 0;
}
