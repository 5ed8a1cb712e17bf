#include "job/sample_output.h"

#include <algorithm>

#include "av/decode_order.h"
#include "av/memory_file.h"

namespace fettle::enhance {
namespace {

constexpr size_t kSampleFrames = 4;
constexpr int64_t kMostBytes = int64_t{32} << 20, kMostBytesRead = int64_t{512} << 20;

PacketPtr CopyOf(const AVPacket& packet) {
  PacketPtr copy(av_packet_clone(&packet));
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

/// Those of the video give times, as its frames are decoded, the others are kept.
std::vector<int64_t> ReadPackets(const Plan& plan, std::vector<PacketPtr>& others) {
  Input input(plan.input, plan.cut);
  Decoder decoder(input, 1);
  std::vector<int64_t> times;
  const auto take = [&](const FramePtr& frame) {
    if (times.size() < kSampleFrames) times.push_back(frame->pts);
  };
  int64_t kept = 0, read = 0;
  bool ended = false;
  while (!ended && kept < kMostBytes && read < kMostBytesRead) {
    PacketPtr packet = input.Read();
    ended = packet == nullptr;
    read += ended ? 0 : packet->size;
    if (ended || packet->stream_index == input.video_index()) {
      if (times.size() < kSampleFrames) decoder.Decode(packet.get(), take);
    } else {
      kept += packet->size;
      others.push_back(std::move(packet));
    }
  }
  if (MakesBetween(plan.chain))
    for (int64_t& time : times) time *= 2;
  return times;
}

void EncodeAt(const std::vector<int64_t>& times, const EncoderSetup& setup, SamplePackets& sample) {
  Encoder encoder(setup);
  sample.parameters = encoder.Parameters();
  const auto keep = [&](AVPacket& packet) { sample.video.push_back(CopyOf(packet)); };
  for (size_t i = 0; i < times.size(); ++i) {
    FramePtr frame = ZeroFrame(setup.format, setup.width, setup.height);
    frame->color_range = setup.colour.range;
    frame->colorspace = setup.colour.matrix;
    frame->color_primaries = setup.colour.primaries;
    frame->color_trc = setup.colour.transfer;
    frame->chroma_location = setup.colour.siting;
    frame->pts = times[i];
    SetDuration(*frame, i + 1 < times.size() ? times[i + 1] - times[i] : 1);
    encoder.Encode(std::move(frame), keep);
  }
  encoder.Encode(nullptr, keep);
  std::vector<int64_t> coded;
  for (const PacketPtr& packet : sample.video) coded.push_back(packet->pts);
  // Frames of nothing are hardly reordered; those of the job may be as far as the encoder tells.
  sample.delay = std::max(ReorderDelay(coded), sample.parameters->video_delay);
  const int64_t usual =
      setup.frame_rate.num <= 0 ? 1 : av_rescale_q(1, av_inv_q(setup.frame_rate), setup.time_base);
  DecodingTimes decoding(sample.delay, std::max<int64_t>(1, usual));
  for (const PacketPtr& packet : sample.video) packet->dts = decoding.Of(packet->pts);
}

bool IsCover(const AVStream& stream) {
  return (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
}

}  // namespace

SamplePackets SampleFor(const Plan& plan) {
  SamplePackets sample;
  std::vector<int64_t> times = ReadPackets(plan, sample.others);
  if (times.empty()) times = {0};
  EncodeAt(times, plan.encoder, sample);
  return sample;
}

void ReadBack(const Input& input, const Plan& plan, const SamplePackets& sample,
              const std::function<void(AVFormatContext&, const Written&)>& look) {
  MemoryFile file;
  OutputWriter output(plan, input, *sample.parameters, sample.delay,
                      file.Output(ContainerOf(plan.output), plan.output.filename()));
  size_t frames = 0, others = 0;
  const auto next_frame = [&] {
    return frames < sample.video.size() ? CopyOf(*sample.video[frames++]) : nullptr;
  };
  const auto next_other = [&] {
    while (others < sample.others.size() && !output.Carries(sample.others[others]->stream_index))
      ++others;
    return others < sample.others.size() ? CopyOf(*sample.others[others++]) : nullptr;
  };
  WriteInterleaved(input, plan, next_frame, next_other, output);
  output.Finish();
  const InputPtr back = file.Input();
  look(*back, output.written());
}

std::vector<int> FoundAgain(const Input& input, const Written& written,
                            const AVFormatContext& back) {
  std::vector<int> found;
  std::vector<bool> taken(back.nb_streams);
  for (size_t i = 0; i < written.places.size(); ++i) {
    found.push_back(-1);
    if (written.places[i] < 0) continue;
    const AVStream& from = *input.format().streams[i];
    for (unsigned j = 0; j < back.nb_streams && found.back() < 0; ++j) {
      const AVStream& to = *back.streams[j];
      if (taken[j] || to.codecpar->codec_type != from.codecpar->codec_type ||
          IsCover(to) != IsCover(from))
        continue;
      taken[j] = true;
      found.back() = static_cast<int>(j);
    }
  }
  return found;
}

}  // namespace fettle::enhance
