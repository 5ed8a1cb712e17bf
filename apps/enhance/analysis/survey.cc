#include "analysis/survey.h"

#include <algorithm>
#include <cmath>

#include "analysis/measures.h"
#include "basics/cpu_time.h"
#include "picture/level.h"

namespace fettle::enhance {
namespace {

constexpr int kPlaces = 5;
constexpr int kFrames = 8;
/// From a key frame to a place: half a second of work for 720p.
constexpr int kMostBefore = 150;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

struct FrameMeasures {
  std::vector<double> level, blockiness, noise, light, contrast, black, white, screen;
};

void Add(const Plane& luma, const Histogram& histogram, FrameMeasures& sums) {
  sums.blockiness.push_back(BlockinessOf(luma));
  sums.noise.push_back(NoiseOf(luma));
  sums.light.push_back(MeanOf(histogram));
  sums.contrast.push_back(PercentileOf(histogram, 0.95) - PercentileOf(histogram, 0.05));
  sums.black.push_back(PercentileOf(histogram, 0.01));
  sums.white.push_back(PercentileOf(histogram, 0.99));
  sums.screen.push_back(ScreenShareOf(luma));
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Measures Measured(std::vector<FramePtr> frames, AVPixelFormat format) {
  Measures result;
  FrameMeasures sums;
  FramePtr before;
  Histogram last = {};
  for (FramePtr& frame : frames) {
    const double level = LevelOf(*frame);
    if (level >= 0) sums.level.push_back(level);
    result.interlaced += IsInterlaced(*frame);
    Converter converter(format, frame->width, frame->height);
    frame = converter.Convert(std::move(frame));
    const Plane luma = PlaneOf(*frame, 0);
    const Histogram histogram = HistogramOf(luma);
    if (before != nullptr) {
      result.repeated += SamePicture(PlaneOf(*before, 0), luma);
      result.cuts += Difference(last, histogram) > kCut;
    }
    Add(luma, histogram, sums);
    last = histogram;
    before = std::move(frame);
  }
  result.frames = static_cast<int>(frames.size());
  result.level_told = !sums.level.empty();
  result.level = Mean(sums.level);
  result.blockiness = Mean(sums.blockiness);
  result.noise = Median(sums.noise);
  result.light = Mean(sums.light);
  result.contrast = Mean(sums.contrast);
  result.black = Mean(sums.black);
  result.white = Mean(sums.white);
  result.screen = Mean(sums.screen);
  return result;
}

/// Bits of the whole video stream for each of its pixels.
double BitsPerPixel(const Input& input) {
  const AVStream& stream = input.video();
  const int64_t frames = input.ExpectedFrames();
  const double pixels = static_cast<double>(stream.codecpar->width) * stream.codecpar->height;
  const auto seconds = static_cast<double>(input.Duration()) / AV_TIME_BASE;
  if (input.is_picture() || frames <= 0 || seconds <= 0 || pixels <= 0) return 0;
  const int64_t rate =
      stream.codecpar->bit_rate > 0 ? stream.codecpar->bit_rate : input.format().bit_rate;
  return static_cast<double>(rate) * seconds / (static_cast<double>(frames) * pixels);
}

/// A line through H.264 at CRF 20 to 38 of four clips, which it meets within 5 levels; what codecs
/// make of fewer bits differs more.
double GuessedLevel(double bits_per_pixel) {
  if (bits_per_pixel <= 0) return 0;
  return std::clamp(35 - 7 * std::log2(bits_per_pixel / 0.034), 0.0, 38.0);
}

double SecondsOf(const AVFrame& frame, const Input& input) {
  const int64_t start = input.format().start_time;
  const double begin = start == AV_NOPTS_VALUE ? 0 : static_cast<double>(start) / AV_TIME_BASE;
  return static_cast<double>(frame.pts) * av_q2d(input.video().time_base) - begin;
}

Measures Together(const std::vector<Measures>& samples) {
  const auto median = [&](double Measures::*member) {
    std::vector<double> values;
    for (const Measures& sample : samples) values.push_back(sample.*member);
    return Median(values);
  };
  Measures all{.level = median(&Measures::level),
               .level_told = !samples.empty(),
               .blockiness = median(&Measures::blockiness),
               .noise = median(&Measures::noise),
               .light = median(&Measures::light),
               .contrast = median(&Measures::contrast),
               .black = median(&Measures::black),
               .white = median(&Measures::white),
               .screen = median(&Measures::screen)};
  for (const Measures& sample : samples) {
    all.frames += sample.frames;
    all.level_told = all.level_told && sample.level_told;
    all.cuts += sample.cuts;
    all.repeated += sample.repeated;
    all.interlaced += sample.interlaced;
  }
  return all;
}

}  // namespace

Sample SampleOf(const std::filesystem::path& path, Cut cut, double seconds) {
  Input input(path, cut);
  if (seconds > 0 && !input.SeekBefore(seconds)) return {};
  Decoder decoder(input, 1, Decoder::kWithLevels);
  Sample sample;
  const auto take = [&](FramePtr frame) {
    const double at = SecondsOf(*frame, input);
    const bool is_before = at < seconds && sample.decoded < kMostBefore;
    ++sample.decoded;
    if (is_before || sample.frames.size() == kFrames) return;
    if (sample.frames.empty()) sample.seconds = at;
    sample.frames.push_back(std::move(frame));
  };
  while (sample.frames.size() < kFrames) {
    const PacketPtr packet = input.Read();
    if (packet != nullptr && packet->stream_index != input.video_index()) continue;
    decoder.Decode(packet.get(), take);
    if (packet == nullptr) break;
  }
  return sample;
}

Survey SurveyOf(const std::filesystem::path& path, Cut cut, AVPixelFormat format) {
  const Input input(path, cut);
  Survey survey{.codec = avcodec_get_name(input.video().codecpar->codec_id),
                .bits_per_pixel = BitsPerPixel(input)};
  const double seconds =
      input.is_picture() ? 0 : std::max(0.0, static_cast<double>(input.Duration()) / AV_TIME_BASE);
  double decoding = 0;
  int decoded = 0;
  for (int place = 0; place < (seconds > 0 ? kPlaces : 1); ++place) {
    const double at = seconds * place / kPlaces;
    const double start = ThreadCpuMs();
    Sample sample = SampleOf(path, cut, at);
    decoding += ThreadCpuMs() - start;
    decoded += sample.decoded;
    if (sample.frames.empty()) continue;
    Measures measures = Measured(std::move(sample.frames), format);
    measures.seconds = sample.seconds;
    if (!measures.level_told) measures.level = GuessedLevel(survey.bits_per_pixel);
    survey.samples.push_back(measures);
  }
  survey.all = Together(survey.samples);
  survey.decode_ms = decoding / std::max(1, decoded);
  return survey;
}

}  // namespace fettle::enhance
