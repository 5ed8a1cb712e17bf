#include "picture/deinterlacer.h"

#include <fmt/format.h>

extern "C" {
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
}

#include <algorithm>
#include <utility>

#include "av/pixels.h"
#include "picture/samples.h"

namespace fettle::enhance {
namespace {

bool HasSameShape(const AVFrame& a, const AVFrame& b) {
  return a.width == b.width && a.height == b.height && a.format == b.format;
}

/// bwdif reads lines around each line, of planes of colour, too.
bool IsLargeEnough(const AVFrame& frame) {
  constexpr int kLeastWidth = 3, kLeastHeight = 4;
  for (int index = 0; index < PlaneCount(frame); ++index) {
    const Plane plane = PlaneOf(frame, index);
    if (plane.width < kLeastWidth || plane.height < kLeastHeight) return false;
  }
  return true;
}

AVFilterContext* NewFilter(AVFilterGraph& graph, const char* name, const std::string& options) {
  const AVFilter* filter = avfilter_get_by_name(name);
  if (filter == nullptr)
    throw Failure(kExitUnsupported,
                  fmt::format("deinterlace: this FFmpeg has no filter '{}'", name));
  AVFilterContext* made = nullptr;
  CheckAv(avfilter_graph_create_filter(&made, filter, name, options.c_str(), nullptr, &graph),
          name);
  return made;
}

/// The same memory without what is told of it, which filters may copy or not; `format` has as many
/// planes and bytes a sample.
FramePtr Bare(const AVFrame& frame, AVPixelFormat format) {
  FramePtr bare(av_frame_clone(&frame));
  if (bare == nullptr) throw std::bad_alloc();
  while (bare->nb_side_data > 0) av_frame_remove_side_data(bare.get(), bare->side_data[0]->type);
  bare->format = format;
  bare->color_range = AVCOL_RANGE_UNSPECIFIED;
  bare->colorspace = AVCOL_SPC_UNSPECIFIED;
  // Beside a whole frame that is shown longer, bwdif would leave one as it is.
  bare->repeat_pict = 0;
  return bare;
}

/// 16-bit results hold what the depth does not.
void Clamp(const AVFrame& frame) {
  for (int index = 0; index < PlaneCount(frame); ++index) {
    const Plane plane = PlaneOf(frame, index);
    const auto most = static_cast<uint16_t>((1 << plane.depth) - 1);
    for (int y = 0; y < plane.height; ++y)
      for (int x = 0; x < plane.width; ++x)
        plane.row<uint16_t>(y)[x] = std::min(plane.row<uint16_t>(y)[x], most);
  }
}

template <typename Sample>
void ClampRow(const Sample* above, const Sample* below, int width, Sample* row) {
  for (int x = 0; x < width; ++x) {
    const auto [least, most] = std::minmax(above[x], below[x]);
    row[x] = std::min(std::max(row[x], least), most);
  }
}

}  // namespace

FramePtr DeinterlacedAlone(const AVFrame& frame) {
  FramePtr result = NewFrameLike(frame, frame.width, frame.height);
  CheckAv(av_frame_copy(result.get(), &frame), "a frame");
  // Most are, where nobody says so.
  const bool top_first = !IsInterlaced(frame) || IsTopFirst(frame);
  for (int index = 0; index < PlaneCount(frame); ++index) {
    const Plane plane = PlaneOf(*result, index);
    if (plane.height < 2) continue;
    ForSampleType(plane.depth, [&](auto sample) {
      using Sample = decltype(sample);
      for (int y = top_first ? 1 : 0; y < plane.height; y += 2) {
        const int above = y > 0 ? y - 1 : y + 1, below = y + 1 < plane.height ? y + 1 : y - 1;
        ClampRow(plane.row<const Sample>(above), plane.row<const Sample>(below), plane.width,
                 plane.row<Sample>(y));
      }
    });
  }
  ClearInterlaced(*result);
  return result;
}

bool Deinterlacer::Makes(const AVFrame& frame) const { return all_ || IsInterlaced(frame); }

bool Deinterlacer::Configure(AVPixelFormat format, int width, int height) {
  graph_.reset(avfilter_graph_alloc());
  if (graph_ == nullptr) throw std::bad_alloc();
  graph_->nb_threads = 1;
  source_ = NewFilter(
      *graph_, "buffer",
      fmt::format("video_size={}x{}:pix_fmt={}:time_base=1/1", width, height, NameOf(format)));
  AVFilterContext* filter =
      NewFilter(*graph_, "bwdif",
                fmt::format("mode=send_frame:parity=auto:deint={}", all_ ? "all" : "interlaced"));
  sink_ = NewFilter(*graph_, "buffersink", "");
  CheckAv(avfilter_link(source_, 0, filter, 0), "bwdif");
  CheckAv(avfilter_link(filter, 0, sink_, 0), "bwdif");
  avfilter_graph_set_auto_convert(graph_.get(), AVFILTER_AUTO_CONVERT_NONE);
  format_ = format;
  return avfilter_graph_config(graph_.get(), nullptr) >= 0;
}

void Deinterlacer::Open(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  // It takes most depths, and 16 bits hold all of them.
  const AVPixelFormat deep = DepthOf(format) > 8 ? WithDepth(format, 16) : format;
  if (IsLargeEnough(frame) && (Configure(format, frame.width, frame.height) ||
                               (deep != format && Configure(deep, frame.width, frame.height))))
    return;
  graph_.reset();
  source_ = sink_ = nullptr;
}

void Deinterlacer::Feed(const AVFrame& frame) {
  if (source_ == nullptr) return;
  const FramePtr bare = Bare(frame, format_);
  CheckAv(av_buffersrc_add_frame_flags(source_, bare.get(), AV_BUFFERSRC_FLAG_PUSH), "bwdif");
}

FramePtr Deinterlacer::Made() {
  if (source_ == nullptr) return nullptr;
  FramePtr made(av_frame_alloc());
  if (made == nullptr) throw std::bad_alloc();
  CheckAv(av_buffersink_get_frame(sink_, made.get()), "bwdif");
  return made;
}

FramePtr Deinterlacer::Take() {
  FramePtr made = Made(), frame = std::move(held_);
  if (!Makes(*frame)) return frame;
  if (source_ == nullptr) return DeinterlacedAlone(*frame);
  made->format = frame->format;
  CheckAv(av_frame_copy_props(made.get(), frame.get()), "a frame's properties");
  ClearInterlaced(*made);
  if (format_ != frame->format) Clamp(*made);
  return made;
}

FramePtr Deinterlacer::Next(FramePtr frame) {
  FramePtr before;
  if (held_ != nullptr && !HasSameShape(*held_, *frame)) before = Finish();
  first_ = held_ == nullptr;
  if (first_) {
    // Of the very first one bwdif keeps one field alone, so that what stands still would lose
    // lines.
    Open(*frame);
    Feed(*frame);
  }
  Feed(*frame);
  if (first_)
    (void)Made();
  else
    before = Take();
  held_ = std::move(frame);
  return before;
}

FramePtr Deinterlacer::Finish() {
  if (held_ == nullptr) return nullptr;
  FramePtr last;
  if (first_ && Makes(*held_)) {
    // bwdif would take it for one that stands still, and leave its combs.
    last = DeinterlacedAlone(*held_);
    held_.reset();
  } else {
    if (source_ != nullptr)
      CheckAv(av_buffersrc_add_frame_flags(source_, nullptr, AV_BUFFERSRC_FLAG_PUSH), "bwdif");
    last = Take();
  }
  graph_.reset();
  source_ = sink_ = nullptr;
  return last;
}

}  // namespace fettle::enhance
