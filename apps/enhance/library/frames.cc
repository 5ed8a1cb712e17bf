#include "library/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "av/pixels.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace fettle::enhance {
namespace {

constexpr std::array kPixels = {
    std::pair(FETTLE_I420, AV_PIX_FMT_YUV420P),      std::pair(FETTLE_NV12, AV_PIX_FMT_NV12),
    std::pair(FETTLE_I422, AV_PIX_FMT_YUV422P),      std::pair(FETTLE_I444, AV_PIX_FMT_YUV444P),
    std::pair(FETTLE_I420P10, AV_PIX_FMT_YUV420P10), std::pair(FETTLE_GRAY8, AV_PIX_FMT_GRAY8),
    std::pair(FETTLE_RGB24, AV_PIX_FMT_RGB24),       std::pair(FETTLE_BGR24, AV_PIX_FMT_BGR24)};

int RowsOf(AVPixelFormat format, int plane, int height) {
  const AVPixFmtDescriptor& desc = *av_pix_fmt_desc_get(format);
  return plane == 1 || plane == 2 ? AV_CEIL_RSHIFT(height, desc.log2_chroma_h) : height;
}

void CheckPlane(const fettle_frame& frame, int plane, int least, int align) {
  const auto index = static_cast<size_t>(plane);
  const void* const data = frame.planes[index];
  const int64_t stride = frame.strides[index];
  if (data == nullptr)
    throw Failure(kExitUsage, fmt::format("plane {} of the frame is NULL", plane));
  if (stride < least || stride > INT32_MAX)
    throw Failure(kExitUsage,
                  fmt::format("plane {} of the frame has a stride of {} bytes, and a row has {}",
                              plane, stride, least));
  if (reinterpret_cast<uintptr_t>(data) % static_cast<unsigned>(align) != 0 || stride % align != 0)
    throw Failure(kExitUsage,
                  fmt::format("plane {} of the frame is not aligned to {} bytes", plane, align));
}

}  // namespace

AVPixelFormat FormatOfPixels(fettle_pixels pixels) {
  const auto row = std::ranges::find(kPixels, pixels, [](const auto& pair) { return pair.first; });
  if (row == kPixels.end())
    throw Failure(kExitUsage, fmt::format("unknown pixels {}", static_cast<int>(pixels)));
  return row->second;
}

fettle_pixels PixelsOfFormat(AVPixelFormat format) {
  const auto row = std::ranges::find(kPixels, format, [](const auto& pair) { return pair.second; });
  if (row == kPixels.end())
    throw Failure(
        kExitUnsupported,
        fmt::format("results would be of {}, which has no name here; use I420", NameOf(format)));
  return row->first;
}

FramePtr Borrowed(const fettle_frame& frame) {
  const AVPixelFormat format = FormatOfPixels(frame.pixels);
  FramePtr borrowed(av_frame_alloc());
  if (borrowed == nullptr) throw std::bad_alloc();
  borrowed->format = format;
  borrowed->width = frame.width;
  borrowed->height = frame.height;
  for (int plane = 0; plane < av_pix_fmt_count_planes(format); ++plane) {
    const auto index = static_cast<size_t>(plane);
    CheckPlane(frame, plane, av_image_get_linesize(format, frame.width, plane),
               DepthOf(format) > 8 ? 2 : 1);
    auto* const data = static_cast<uint8_t*>(const_cast<void*>(frame.planes[index]));
    const auto bytes = static_cast<size_t>(frame.strides[index]) *
                       static_cast<size_t>(RowsOf(format, plane, frame.height));
    borrowed->data[plane] = data;
    borrowed->linesize[plane] = static_cast<int>(frame.strides[index]);
    borrowed->buf[plane] = av_buffer_create(
        data, bytes, [](void*, uint8_t*) {}, nullptr, AV_BUFFER_FLAG_READONLY);
    if (borrowed->buf[plane] == nullptr) throw std::bad_alloc();
  }
  return borrowed;
}

FramePtr Copied(const AVFrame& frame) {
  FramePtr copy = NewFrameLike(frame, frame.width, frame.height);
  CheckAv(av_frame_copy(copy.get(), &frame), "a frame");
  return copy;
}

bool SharesPlanes(const AVFrame& result, const AVFrame& frame) {
  for (const uint8_t* one : result.data)
    for (const uint8_t* other : frame.data)
      if (one != nullptr && one == other) return true;
  return false;
}

void Lend(FramePtr frame, fettle_pixels pixels, int64_t time, fettle_frame& result) {
  result.pixels = pixels;
  result.width = frame->width;
  result.height = frame->height;
  for (size_t i = 0; i < FETTLE_MAX_PLANES; ++i) {
    result.planes[i] = frame->data[i];
    result.strides[i] = frame->linesize[i];
  }
  result.time = time;
  result.owner = frame.release();
}

}  // namespace fettle::enhance
