#include "av/carrying.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "av/encoder.h"
#include "av/in_band.h"
#include "av/input.h"
#include "av/memory_file.h"

namespace fettle::enhance {
namespace {

constexpr int kSmallSide = 64, kSmallFrames = 2;
/// Devices take no picture as small.
constexpr int kSideOfHardware = 256;

int SideOf(const EncoderRow& row) { return IsHardware(row) ? kSideOfHardware : kSmallSide; }

EncoderSetup SmallSetup(const EncoderRow& row) {
  const std::string name(row.name);
  return {.name = name,
          .options = OptionsOf(row, -1, ""),
          .width = SideOf(row),
          .height = SideOf(row),
          .format = EncoderFormat(name, AV_PIX_FMT_YUV420P, false),
          .time_base = {1, 25},
          .frame_rate = {25, 1},
          .aspect = {1, 1}};
}

void WriteSmall(const EncoderSetup& setup, AVFormatContext& output) {
  Encoder encoder(setup);
  AVStream* stream = avformat_new_stream(&output, nullptr);
  if (stream == nullptr) throw std::bad_alloc();
  CheckAv(avcodec_parameters_copy(stream->codecpar, encoder.Parameters().get()), setup.name);
  stream->codecpar->codec_tag = 0;
  stream->time_base = setup.time_base;
  stream->avg_frame_rate = setup.frame_rate;
  CheckAv(avformat_write_header(&output, nullptr), "the header");
  InBand in_band(*output.oformat, *stream->codecpar, setup.time_base);
  const auto write = [&](AVPacket& packet) {
    PacketPtr copy(av_packet_clone(&packet));
    if (copy == nullptr) throw std::bad_alloc();
    copy->dts = copy->pts;
    copy->duration = 1;
    copy->stream_index = 0;
    copy = in_band.Apply(std::move(copy));
    av_packet_rescale_ts(copy.get(), setup.time_base, stream->time_base);
    CheckAv(av_interleaved_write_frame(&output, copy.get()), "a packet");
  };
  for (int i = 0; i < kSmallFrames; ++i) {
    FramePtr frame = ZeroFrame(setup.format, setup.width, setup.height);
    frame->pts = i;
    SetDuration(*frame, 1);
    encoder.Encode(std::move(frame), write);
  }
  encoder.Encode(nullptr, write);
  CheckAv(av_write_trailer(&output), "the end");
}

bool TrySmall(const AVOutputFormat& container, const EncoderRow& row) {
  try {
    const EncoderSetup setup = SmallSetup(row);
    MemoryFile file;
    {
      const OutputPtr output = file.Output(container, "trial");
      WriteSmall(setup, *output);
    }
    const InputPtr back = file.Input();
    const AVStream& stream = *back->streams[0];
    return stream.codecpar->codec_id == row.codec &&
           DecodesFrame(*back, stream, setup.width, setup.height);
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace

void CheckHardware(const EncoderRow& row) {
  if (IsHardware(row)) Encoder encoder(SmallSetup(row));
}

bool Carries(const AVOutputFormat& container, const EncoderRow& row) {
  // Several files, or one of another kind than its name says.
  if (container.flags & AVFMT_NOFILE || container.video_codec == AV_CODEC_ID_NONE ||
      container.video_codec == AV_CODEC_ID_RAWVIDEO ||
      avformat_query_codec(&container, row.codec, FF_COMPLIANCE_NORMAL) == 0 || !IsPresent(row))
    return false;
  static std::mutex mutex;
  static std::map<std::pair<const AVOutputFormat*, std::string_view>, bool> known;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known.try_emplace({&container, row.name}, false);
  if (is_new) place->second = TrySmall(container, row);
  return place->second;
}

std::string CarriedBy(const AVOutputFormat& container, std::string_view except) {
  std::vector<std::string_view> names;
  for (const EncoderRow& row : EncoderRows())
    if (row.name != except && Carries(container, row)) names.push_back(row.name);
  return names.empty() ? "none of the encoders here" : fmt::format("{}", fmt::join(names, ", "));
}

std::string CodecsOf(const AVOutputFormat& container) {
  if (container.flags & AVFMT_NOFILE) return "single pictures";
  if (container.video_codec == AV_CODEC_ID_WRAPPED_AVFRAME ||
      container.video_codec == AV_CODEC_ID_RAWVIDEO)
    return "frames that are not compressed";
  constexpr size_t kMost = 5;
  std::vector<std::string_view> names;
  const AVCodecDescriptor* codec = nullptr;
  while ((codec = avcodec_descriptor_next(codec)) != nullptr && names.size() < kMost)
    if (codec->type == AVMEDIA_TYPE_VIDEO &&
        avformat_query_codec(&container, codec->id, FF_COMPLIANCE_NORMAL) == 1)
      names.emplace_back(codec->name);
  if (names.empty()) return container.audio_codec == AV_CODEC_ID_NONE ? "no video" : "sound alone";
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string CarriersOf(const EncoderRow& row) {
  static constexpr std::array kEndings = {".mkv", ".mp4", ".mov", ".webm"};
  std::vector<std::string_view> names;
  for (const char* ending : kEndings)
    if (const AVOutputFormat* container = av_guess_format(nullptr, ending, nullptr);
        container != nullptr && Carries(*container, row))
      names.emplace_back(ending);
  return fmt::format("{}", fmt::join(names, " or "));
}

bool TakesVideo(const AVOutputFormat& container) {
  return std::ranges::any_of(EncoderRows(),
                             [&](const EncoderRow& row) { return Carries(container, row); });
}

}  // namespace fettle::enhance
