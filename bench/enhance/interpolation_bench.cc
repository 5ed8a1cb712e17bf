// Odd frames of a clip made anew from the even ones beside them: interpolation_bench CLIP [FRAMES]
// prints the decibels of luma, of the mean squared error, and milliseconds a frame at one thread.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "analysis/scene.h"
#include "av/input.h"
#include "av/pixels.h"
#include "basics/cpu_time.h"
#include "motion/between.h"

namespace fettle::enhance {
namespace {

double SquaredError(const AVFrame& a, const AVFrame& b) {
  double sum = 0;
  for (int y = 0; y < a.height; ++y)
    for (int x = 0; x < a.width; ++x) {
      const double difference =
          PlaneOf(a, 0).row<uint8_t>(y)[x] - double{1} * PlaneOf(b, 0).row<uint8_t>(y)[x];
      sum += difference * difference;
    }
  return sum / a.width / a.height;
}

void Measure(const char* path, size_t most) {
  Input input(path);
  Decoder decoder(input, 1);
  std::vector<FramePtr> frames;
  SceneTracker scenes;
  const auto take = [&](FramePtr frame) {
    if (frames.size() > most) return;
    frames.push_back(
        Converter(AV_PIX_FMT_YUV420P, frame->width, frame->height).Convert(std::move(frame)));
    scenes.Add(*frames.back());
  };
  while (frames.size() <= most) {
    const PacketPtr packet = input.Read();
    if (packet != nullptr && packet->stream_index != input.video_index()) continue;
    decoder.Decode(packet.get(), take);
    if (packet == nullptr) break;
  }
  Between between;
  double error = 0, decibels = 0, ms = 0;
  int count = 0;
  for (size_t i = 0; i + 2 < frames.size(); i += 2, ++count) {
    const double start = ThreadCpuMs();
    const FramePtr made = between.Make(*frames[i], *frames[i + 2]);
    ms += ThreadCpuMs() - start;
    const double one = SquaredError(*made, *frames[i + 1]);
    error += one;
    decibels += 10 * std::log10(255 * 255 / std::max(one, 1e-3));
  }
  fmt::print("{}: {:.2f} dB (mean of frames {:.2f}), {:.1f} ms a frame of {}x{}\n", path,
             10 * std::log10(255 * 255 * count / error), decibels / count, ms / count,
             frames[0]->width, frames[0]->height);
}

}  // namespace
}  // namespace fettle::enhance

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  fettle::enhance::SilenceAv();
  fettle::enhance::Measure(argv[1], argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 60);
}
