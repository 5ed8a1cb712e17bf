// Ownership of FFmpeg's objects, and its error codes as failures.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavfilter/avfilter.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "basics/failure.h"

namespace fettle::enhance {

struct FreeAv {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
  void operator()(AVCodecParameters* parameters) const { avcodec_parameters_free(&parameters); }
  void operator()(AVFilterGraph* graph) const { avfilter_graph_free(&graph); }
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
using PacketPtr = std::unique_ptr<AVPacket, FreeAv>;
using FramePtr = std::unique_ptr<AVFrame, FreeAv>;
using CodecPtr = std::unique_ptr<AVCodecContext, FreeAv>;
using ParametersPtr = std::unique_ptr<AVCodecParameters, FreeAv>;
using FilterGraphPtr = std::unique_ptr<AVFilterGraph, FreeAv>;
using ScalerPtr = std::unique_ptr<SwsContext, FreeAv>;

struct CloseInput {
  void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
};
using InputPtr = std::unique_ptr<AVFormatContext, CloseInput>;

struct CloseOutput {
  void operator()(AVFormatContext* format) const {
    const bool own = !(format->flags & AVFMT_FLAG_CUSTOM_IO);
    if (own && format->pb != nullptr && !(format->oformat->flags & AVFMT_NOFILE))
      avio_closep(&format->pb);
    avformat_free_context(format);
  }
};
using OutputPtr = std::unique_ptr<AVFormatContext, CloseOutput>;

std::string AvErrorText(int error);
/// `result` where it is no error. Throws Failure("what: error").
int CheckAv(int result, const std::string& what, ExitCode code = kExitFailed);
/// Of a call that writes `file`. Throws Failure("FILE: cannot write: error").
int CheckWrite(int result, const std::filesystem::path& file);

PacketPtr NewPacket();
/// A frame with memory of its own. Throws Failure.
FramePtr NewFrame(AVPixelFormat format, int width, int height);
/// The same, all of it 0.
FramePtr ZeroFrame(AVPixelFormat format, int width, int height);
/// A new one with the properties (times, colour, side data) of `like`.
FramePtr NewFrameLike(const AVFrame& like, int width, int height);
size_t FrameBytes(const AVFrame& frame);
bool IsKey(const AVFrame& frame);
void ClearKey(AVFrame& frame);
/// Lines in turns of two fields, as the frame says of itself.
bool IsInterlaced(const AVFrame& frame);
bool IsTopFirst(const AVFrame& frame);
void ClearInterlaced(AVFrame& frame);
int64_t DurationOf(const AVFrame& frame);
void SetDuration(AVFrame& frame, int64_t duration);

/// Options as FFmpeg takes them; throws Failure on those that nobody took.
class Options {
 public:
  explicit Options(const std::map<std::string, std::string>& values);
  ~Options() { av_dict_free(&values_); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  AVDictionary** get() { return &values_; }
  void CheckAllTaken(const std::string& by) const;

 private:
  AVDictionary* values_ = nullptr;
};

/// Sends the messages of FFmpeg and of its encoders nowhere. Before threads are begun.
void SilenceAv();

}  // namespace fettle::enhance
