#include "av/av.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
}

namespace fettle::enhance {

std::string AvErrorText(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof text);
  return text;
}

int CheckAv(int result, const std::string& what, ExitCode code) {
  if (result < 0) throw Failure(code, fmt::format("{}: {}", what, AvErrorText(result)));
  return result;
}

int CheckWrite(int result, const std::filesystem::path& file) {
  return CheckAv(result, file.string() + ": cannot write");
}

PacketPtr NewPacket() {
  PacketPtr packet(av_packet_alloc());
  if (packet == nullptr) throw std::bad_alloc();
  return packet;
}

FramePtr NewFrame(AVPixelFormat format, int width, int height) {
  FramePtr frame(av_frame_alloc());
  if (frame == nullptr) throw std::bad_alloc();
  frame->format = format;
  frame->width = width;
  frame->height = height;
  CheckAv(av_frame_get_buffer(frame.get(), 0), fmt::format("a frame of {}x{}", width, height));
  return frame;
}

FramePtr ZeroFrame(AVPixelFormat format, int width, int height) {
  FramePtr frame = NewFrame(format, width, height);
  for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i] != nullptr; ++i)
    std::memset(frame->buf[i]->data, 0, frame->buf[i]->size);
  return frame;
}

FramePtr NewFrameLike(const AVFrame& like, int width, int height) {
  FramePtr frame = NewFrame(static_cast<AVPixelFormat>(like.format), width, height);
  CheckAv(av_frame_copy_props(frame.get(), &like), "a frame's properties");
  return frame;
}

size_t FrameBytes(const AVFrame& frame) {
  const int bytes = av_image_get_buffer_size(static_cast<AVPixelFormat>(frame.format), frame.width,
                                             frame.height, 32);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

bool IsKey(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_KEY;
#else
  return frame.key_frame != 0;
#endif
}

void ClearKey(AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags &= ~AV_FRAME_FLAG_KEY;
#else
  frame.key_frame = 0;
#endif
}

bool IsInterlaced(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_INTERLACED;
#else
  return frame.interlaced_frame != 0;
#endif
}

bool IsTopFirst(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  return frame.top_field_first != 0;
#endif
}

void ClearInterlaced(AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
#else
  frame.interlaced_frame = frame.top_field_first = 0;
#endif
}

int64_t DurationOf(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return frame.duration;
#else
  return frame.pkt_duration;
#endif
}

void SetDuration(AVFrame& frame, int64_t duration) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  frame.duration = duration;
#else
  frame.pkt_duration = duration;
#endif
}

Options::Options(const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) av_dict_set(&values_, name.c_str(), value.c_str(), 0);
}

void Options::CheckAllTaken(const std::string& by) const {
  const AVDictionaryEntry* left = av_dict_get(values_, "", nullptr, AV_DICT_IGNORE_SUFFIX);
  if (left != nullptr)
    throw Failure(kExitUsage, fmt::format("{} has no option '{}'", by, left->key));
}

void SilenceAv() {
  av_log_set_level(AV_LOG_QUIET);
  setenv("SVT_LOG", "-1", 0);  // SVT-AV1 has no other way
}

}  // namespace fettle::enhance
