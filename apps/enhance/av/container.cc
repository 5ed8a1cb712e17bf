#include "av/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "av/alpha.h"

extern "C" {
#include <libavutil/display.h>
}

namespace fettle::enhance {
namespace {

/// Containers and what FFmpeg's muxers of them leave out in silence; others are taken to carry none
/// of it.
struct ContainerRow {
  std::string_view names;  // as AVOutputFormat has them
  bool chapters, rotation;
};
// Rotation in Matroska came with libavformat 61.
constexpr bool kMatroskaTurns = LIBAVFORMAT_VERSION_MAJOR >= 61;
constexpr std::array kContainers = {
    ContainerRow{"mp4", true, true},
    ContainerRow{"mov", true, true},
    ContainerRow{"ipod", true, true},
    ContainerRow{"matroska", true, kMatroskaTurns},
    ContainerRow{"webm", true, kMatroskaTurns},
    ContainerRow{"nut", true, false},
};

ContainerRow RowOf(const AVOutputFormat& container) {
  for (const ContainerRow& row : kContainers)
    if (row.names == container.name) return row;
  return {container.name, false, false};
}

/// Degrees counterclockwise; 0 where nothing is said, or nothing that makes sense.
double RotationOf(const AVStream& stream) {
  const uint8_t* matrix = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr);
  if (matrix == nullptr) return 0;
  const double rotation = av_display_rotation_get(reinterpret_cast<const int32_t*>(matrix));
  return std::isfinite(rotation) ? rotation : 0;
}

/// "" where Matroska takes the attachment: it needs a type, one that FFmpeg knows or any other.
std::string WhyNoAttachment(const AVStream& stream, std::string_view container,
                            const std::string& ending) {
  if (container != "matroska") return fmt::format("{} has no attachments", ending);
  if (stream.codecpar->codec_id == AV_CODEC_ID_NONE &&
      av_dict_get(stream.metadata, "mimetype", nullptr, 0) == nullptr)
    return "its type is unknown";
  return "";
}

/// `ending` is what the user calls the container.
std::string WhyNot(const AVStream& stream, const AVOutputFormat& container,
                   const std::string& ending) {
  const AVCodecParameters& codec = *stream.codecpar;
  if (codec.codec_type == AVMEDIA_TYPE_ATTACHMENT)
    return WhyNoAttachment(stream, container.name, ending);
  if (codec.codec_type == AVMEDIA_TYPE_DATA || codec.codec_type == AVMEDIA_TYPE_UNKNOWN ||
      codec.codec_id == AV_CODEC_ID_NONE)
    return fmt::format("{} cannot hold unknown data", ending);
  if (avformat_query_codec(&container, codec.codec_id, FF_COMPLIANCE_NORMAL) == 0)
    return fmt::format("{} cannot hold {}", ending, CodecText(codec.codec_id));
  return "";
}

/// Tags belong to containers: kept where this one knows it for the codec.
unsigned TagIn(const AVOutputFormat& container, const AVCodecParameters& codec) {
  if (container.codec_tag == nullptr) return codec.codec_tag;
  return av_codec_get_id(container.codec_tag, codec.codec_tag) == codec.codec_id ? codec.codec_tag
                                                                                 : 0;
}

void AddSideData(AVStream& to, AVPacketSideDataType type, const void* bytes, size_t size) {
  uint8_t* copy = av_stream_new_side_data(&to, type, size);
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, bytes, size);
}

/// Copies all side data, except descriptions of data that the new frames of a video lack.
void CopySideData(const AVStream& from, AVStream& to, bool is_video) {
  for (int i = 0; i < from.nb_side_data; ++i)
    if (!is_video || from.side_data[i].type != AV_PKT_DATA_DOVI_CONF)
      AddSideData(to, from.side_data[i].type, from.side_data[i].data, from.side_data[i].size);
}

void AddLight(const LightData& light, AVStream& to) {
  for (const auto& [type, bytes] : light)
    if (av_stream_get_side_data(&to, type, nullptr) == nullptr)
      AddSideData(to, type, bytes.data(), bytes.size());
}

/// VP8 and VP9 have alpha beside their frames, which the stream is to say; others never.
void TellAlpha(AVStream& video) {
  const AVCodecID codec = video.codecpar->codec_id;
  const bool beside = (codec == AV_CODEC_ID_VP8 || codec == AV_CODEC_ID_VP9) &&
                      HasAlpha(static_cast<AVPixelFormat>(video.codecpar->format));
  av_dict_set(&video.metadata, "alpha_mode", beside ? "1" : nullptr, 0);
}

void CopyChapters(const AVFormatContext& from, AVFormatContext& to) {
  if (from.nb_chapters == 0) return;
  to.chapters = static_cast<AVChapter**>(av_calloc(from.nb_chapters, sizeof *to.chapters));
  if (to.chapters == nullptr) throw std::bad_alloc();
  for (unsigned i = 0; i < from.nb_chapters; ++i) {
    auto* chapter = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
    if (chapter == nullptr) throw std::bad_alloc();
    *chapter = *from.chapters[i];
    chapter->metadata = nullptr;
    av_dict_copy(&chapter->metadata, from.chapters[i]->metadata, 0);
    to.chapters[to.nb_chapters++] = chapter;
  }
}

}  // namespace

std::string CodecText(AVCodecID codec) {
  const AVCodecDescriptor* known = avcodec_descriptor_get(codec);
  std::string text =
      known != nullptr && known->long_name != nullptr ? known->long_name : avcodec_get_name(codec);
  if (text.ends_with(" subtitle")) text += 's';
  return text;
}

int TurnsOf(const AVStream& stream) {
  const auto quarters = static_cast<int>(std::lround(-RotationOf(stream) / 90));
  return (quarters % 4 + 4) % 4;
}

const AVOutputFormat& ContainerOf(const std::filesystem::path& path) {
  const AVOutputFormat* format = av_guess_format(nullptr, path.c_str(), nullptr);
  if (format == nullptr)
    throw Failure(kExitUsage, fmt::format("{}: not the ending of a video file", path.string()));
  return *format;
}

std::vector<StreamFate> FatesOf(const Input& input, const std::filesystem::path& output) {
  const AVOutputFormat& container = ContainerOf(output);
  std::vector<StreamFate> fates;
  for (unsigned i = 0; i < input.format().nb_streams; ++i) {
    const AVStream& stream = *input.format().streams[i];
    const char* type = av_get_media_type_string(stream.codecpar->codec_type);
    StreamFate fate{.index = static_cast<int>(i),
                    .type = type == nullptr ? "unknown" : type,
                    .codec = avcodec_get_name(stream.codecpar->codec_id)};
    if (fate.index != input.video_index())
      fate.reason = WhyNot(stream, container, output.extension().string());
    fate.carried = fate.reason.empty();
    // MP4 keeps the titles of chapters as a stream, which its muxer writes by itself.
    fate.made_anew = !fate.carried && input.format().nb_chapters > 0 &&
                     stream.codecpar->codec_tag == MKTAG('t', 'e', 'x', 't');
    fates.push_back(fate);
  }
  return fates;
}

std::vector<std::string> LossesOf(const Input& input, const AVOutputFormat& container,
                                  const std::string& suffix) {
  const ContainerRow row = RowOf(container);
  std::vector<std::string> losses;
  if (input.format().nb_chapters > 0 && !row.chapters)
    losses.push_back(fmt::format("{} has no chapters", suffix));
  if (RotationOf(input.video()) != 0 && !row.rotation)
    losses.push_back(fmt::format("{} does not carry the rotation", suffix));
  return losses;
}

LightData LightOf(const AVFrame& frame) {
  static constexpr std::pair<AVFrameSideDataType, AVPacketSideDataType> kTypes[] = {
      {AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AV_PKT_DATA_MASTERING_DISPLAY_METADATA},
      {AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_PKT_DATA_CONTENT_LIGHT_LEVEL}};
  LightData light;
  for (const auto& [of_frame, of_stream] : kTypes)
    if (const AVFrameSideData* data = av_frame_get_side_data(&frame, of_frame))
      light.emplace_back(of_stream,
                         std::string(reinterpret_cast<const char*>(data->data), data->size));
  return light;
}

std::vector<int> CopyStructure(const Input& input, const std::vector<StreamFate>& fates,
                               const AVCodecParameters& video, const LightData& light,
                               AVFormatContext& output) {
  std::vector<int> places;
  for (const StreamFate& fate : fates) {
    places.push_back(-1);
    if (!fate.carried) continue;
    const AVStream& from = *input.format().streams[fate.index];
    AVStream* to = avformat_new_stream(&output, nullptr);
    if (to == nullptr) throw std::bad_alloc();
    places.back() = to->index;
    const bool is_video = fate.index == input.video_index();
    CheckAv(avcodec_parameters_copy(to->codecpar, is_video ? &video : from.codecpar),
            "a stream's parameters");
    to->codecpar->codec_tag = TagIn(*output.oformat, is_video ? video : *from.codecpar);
    to->time_base = from.time_base;
    to->avg_frame_rate = from.avg_frame_rate;
    to->r_frame_rate = from.r_frame_rate;
    to->disposition = from.disposition;
    to->id = from.id;
    to->sample_aspect_ratio = is_video ? video.sample_aspect_ratio : from.sample_aspect_ratio;
    av_dict_copy(&to->metadata, from.metadata, 0);
    CopySideData(from, *to, is_video);
    if (is_video) AddLight(light, *to);
    if (is_video) TellAlpha(*to);
  }
  CopyChapters(input.format(), output);
  CutChapters(input.cut(), input.format(), output);
  av_dict_copy(&output.metadata, input.format().metadata, 0);
  return places;
}

}  // namespace fettle::enhance
