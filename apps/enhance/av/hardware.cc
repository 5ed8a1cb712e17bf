#include "av/hardware.h"

#include <fmt/format.h>

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace fettle::enhance {
namespace {

bool IsVaapi(const EncoderRow& row) { return row.name.ends_with("_vaapi"); }

}  // namespace

bool IsHardware(const EncoderRow& row) { return IsVaapi(row) || row.name.ends_with("_nvenc"); }

AVPixelFormat UploadFormat(const EncoderRow& row, int depth) {
  if (!IsVaapi(row)) return AV_PIX_FMT_NONE;
  return depth > 8 && row.codec == AV_CODEC_ID_HEVC ? AV_PIX_FMT_P010 : AV_PIX_FMT_NV12;
}

Uploads::Uploads(const EncoderRow* row, AVCodecContext& codec) {
  if (row == nullptr || !IsVaapi(*row)) return;
  const int opened = av_hwdevice_ctx_create(&device_, AV_HWDEVICE_TYPE_VAAPI, nullptr, nullptr, 0);
  if (opened < 0)
    throw Failure(kExitUnsupported,
                  fmt::format("{}: this machine has no VA-API device that opens ({})", row->name,
                              AvErrorText(opened)));
  frames_ = av_hwframe_ctx_alloc(device_);
  if (frames_ == nullptr) throw std::bad_alloc();
  auto& frames = *reinterpret_cast<AVHWFramesContext*>(frames_->data);
  frames.format = AV_PIX_FMT_VAAPI;
  frames.sw_format = codec.pix_fmt;
  frames.width = codec.width;
  frames.height = codec.height;
  CheckAv(av_hwframe_ctx_init(frames_), std::string(row->name), kExitUnsupported);
  codec.pix_fmt = AV_PIX_FMT_VAAPI;
  codec.hw_frames_ctx = av_buffer_ref(frames_);
  if (codec.hw_frames_ctx == nullptr) throw std::bad_alloc();
}

Uploads::~Uploads() {
  av_buffer_unref(&frames_);
  av_buffer_unref(&device_);
}

FramePtr Uploads::Take(FramePtr frame) const {
  if (frames_ == nullptr || frame == nullptr) return frame;
  FramePtr there(av_frame_alloc());
  if (there == nullptr) throw std::bad_alloc();
  CheckAv(av_hwframe_get_buffer(frames_, there.get(), 0), "a frame of the device");
  CheckAv(av_hwframe_transfer_data(there.get(), frame.get(), 0), "a frame to the device");
  CheckAv(av_frame_copy_props(there.get(), frame.get()), "a frame's properties");
  return there;
}

}  // namespace fettle::enhance
