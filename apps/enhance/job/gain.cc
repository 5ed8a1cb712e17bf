#include "job/gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "picture/samples.h"

namespace fettle::enhance {
namespace {

/// Levels that the sample is coded coarser by: at twice the step. At the same one, little would
/// change.
constexpr double kCoarser = 6;

/// Squared differences of luma, of 255, summed.
double SquaredError(const AVFrame& a, const AVFrame& b) {
  const Plane one = PlaneOf(a, 0), other = PlaneOf(b, 0);
  const double unit = 255.0 / WhiteOf(one.depth);
  double sum = 0;
  ForSampleType(one.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int y = 0; y < one.height; ++y) {
      const Sample *left = one.row<Sample>(y), *right = other.row<Sample>(y);
      int64_t row = 0;
      for (int x = 0; x < one.width; ++x) {
        const int64_t difference = static_cast<int64_t>(left[x]) - right[x];
        row += difference * difference;
      }
      sum += static_cast<double>(row);
    }
  });
  return sum * unit * unit;
}

/// The frames coded by `setup` and decoded again with their quantisers.
std::vector<FramePtr> Recoded(const std::vector<FramePtr>& frames, const EncoderSetup& setup) {
  Encoder encoder(setup);
  std::vector<PacketPtr> packets;
  const auto keep = [&](AVPacket& packet) {
    packets.emplace_back(av_packet_clone(&packet));
    if (packets.back() == nullptr) throw std::bad_alloc();
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    FramePtr copy(av_frame_clone(frames[i].get()));
    if (copy == nullptr) throw std::bad_alloc();
    copy->pts = static_cast<int64_t>(i);
    encoder.Encode(std::move(copy), keep);
  }
  encoder.Encode(nullptr, keep);
  packets.push_back(nullptr);
  Decoder decoder(*encoder.Parameters(), Decoder::kWithLevels);
  std::vector<FramePtr> decoded;
  for (const PacketPtr& packet : packets)
    decoder.Decode(packet.get(), [&](FramePtr frame) { decoded.push_back(std::move(frame)); });
  return decoded;
}

}  // namespace

std::optional<double> DeblockGain(const Plan& plan) {
  if (avcodec_find_encoder_by_name("libx264") == nullptr) return std::nullopt;
  const double level = std::min(plan.first.level + kCoarser, 51.0);
  std::vector<FramePtr> frames = SampleOf(plan.input, plan.cut, plan.seconds / 2).frames;
  const EncoderSetup setup{
      .name = "libx264",
      .options = {{"preset", "veryfast"}, {"qp", fmt::format("{:.0f}", level)}},
      .width = plan.first.width,
      .height = plan.first.height,
      .format = EncoderFormat("libx264", plan.first.format, false),
      .time_base = {1, 25}};
  Converter converter(setup.format, setup.width, setup.height);
  for (FramePtr& frame : frames) frame = converter.Convert(std::move(frame));
  const std::vector<FramePtr> coded = Recoded(frames, setup);
  if (coded.empty() || coded.size() != frames.size()) return std::nullopt;
  StepSetup step = plan.first;
  step.format = setup.format;
  step.own_levels = true;
  const std::unique_ptr<Step> deblock = MakeDeblock(step);
  double before = 0, after = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    before += SquaredError(*frames[i], *coded[i]);
    FramePtr copy(av_frame_clone(coded[i].get()));
    if (copy == nullptr) throw std::bad_alloc();
    after += SquaredError(*frames[i], *deblock->Apply(std::move(copy)));
  }
  return 10 * std::log10((before + 1) / (after + 1));
}

std::optional<double> SuperresGain(const Plan& plan) {
  constexpr int kLeast = 64;
  StepSetup setup = plan.first;
  setup.width = plan.first.width / 2 & ~1;
  setup.height = plan.first.height / 2 & ~1;
  std::vector<FramePtr> frames = SampleOf(plan.input, plan.cut, plan.seconds / 2).frames;
  if (frames.empty() || std::min(setup.width, setup.height) < kLeast) return std::nullopt;
  const FramePtr whole =
      Converter(setup.format, 2 * setup.width, 2 * setup.height).Convert(std::move(frames.front()));
  Converter halving(setup.format, setup.width, setup.height);
  const auto error = [&](double strength) {
    FramePtr copy(av_frame_clone(whole.get()));
    if (copy == nullptr) throw std::bad_alloc();
    setup.strength = strength;
    return SquaredError(*whole, *MakeSuperres(setup)->Apply(halving.Convert(std::move(copy))));
  };
  return 10 * std::log10((error(0) + 1) / (error(1) + 1));
}

}  // namespace fettle::enhance
