#include "job/trial.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "av/memory_file.h"
#include "job/tag_losses.h"

namespace fettle::enhance {
namespace {

constexpr int kMostPackets = 400;

/// One frame of nothing in particular, coded.
std::vector<PacketPtr> CodedFrame(const EncoderSetup& setup) {
  FramePtr frame = NewFrame(setup.format, setup.width, setup.height);
  for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i] != nullptr; ++i)
    std::memset(frame->buf[i]->data, 0, frame->buf[i]->size);
  frame->color_range = setup.colour.range;
  frame->colorspace = setup.colour.matrix;
  frame->color_primaries = setup.colour.primaries;
  frame->color_trc = setup.colour.transfer;
  frame->chroma_location = setup.colour.siting;
  frame->pts = 0;
  SetDuration(*frame, 1);
  std::vector<PacketPtr> packets;
  const auto keep = [&](AVPacket& packet) {
    packets.emplace_back(av_packet_clone(&packet));
    if (packets.back() == nullptr) throw std::bad_alloc();
    packets.back()->dts = packets.back()->pts;
  };
  Encoder encoder(setup);
  encoder.Encode(std::move(frame), keep);
  encoder.Encode(nullptr, keep);
  return packets;
}

void Write(AVFormatContext& output, PacketPtr packet, AVRational base, int place) {
  av_packet_rescale_ts(packet.get(), base, output.streams[place]->time_base);
  packet->stream_index = place;
  packet->pos = -1;
  CheckAv(av_interleaved_write_frame(&output, packet.get()), "a packet");
}

/// The first packet of each carried stream but the video.
void WriteOthers(const Plan& plan, const std::vector<int>& places, AVFormatContext& output) {
  Input input(plan.input);
  std::set<int> waited_for;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] >= 0 && static_cast<int>(i) != input.video_index())
      waited_for.insert(static_cast<int>(i));
  for (int i = 0; i < kMostPackets && !waited_for.empty(); ++i) {
    PacketPtr packet = input.Read();
    if (packet == nullptr) return;
    const int stream = packet->stream_index;
    if (waited_for.erase(stream) == 0) continue;
    Write(output, std::move(packet), input.format().streams[stream]->time_base,
          places[static_cast<size_t>(stream)]);
  }
}

TagLoss TrialLoss(const Input& input, const Plan& plan) {
  try {
    MemoryFile file;
    const OutputPtr output = file.Output(ContainerOf(plan.output), plan.output.filename());
    const std::vector<int> places = CopyStructure(
        input, plan.streams, *Encoder(plan.encoder).Parameters(), plan.light, *output);
    Options options(plan.muxer_options);
    CheckAv(avformat_write_header(output.get(), options.get()), "the trial");
    for (PacketPtr& packet : CodedFrame(plan.encoder))
      Write(*output, std::move(packet), plan.encoder.time_base,
            places[static_cast<size_t>(input.video_index())]);
    WriteOthers(plan, places, *output);
    CheckAv(av_write_trailer(output.get()), "the trial");
    const InputPtr back = file.Input();
    return TagLossOf(input, places, plan.encoder, *back);
  } catch (const Failure&) {
    return {};  // says nothing about what is lost
  }
}

}  // namespace

std::vector<std::string> TrialLosses(const Input& input, Plan& plan) {
  TagLoss usual = TrialLoss(input, plan);
  const std::string_view container = ContainerOf(plan.output).name;
  if (usual.tags == 0 || (container != "mov" && container != "mp4")) return usual.sentences;
  // As QuickTime keeps tags, by names of any kind; else there is a list of names.
  plan.muxer_options = {{"movflags", "use_metadata_tags"}};
  TagLoss named = TrialLoss(input, plan);
  if (named.tags < usual.tags) return named.sentences;
  plan.muxer_options.clear();
  return usual.sentences;
}

}  // namespace fettle::enhance
