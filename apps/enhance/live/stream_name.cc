#include "live/stream_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#ifdef FETTLE_HAVE_AVDEVICE
extern "C" {
#include <libavdevice/avdevice.h>
}
#endif

#include "basics/nearest.h"

namespace fettle::enhance {
namespace {

/// Kinds of streams, and what FFmpeg calls them.
struct KindRow {
  std::string_view kind, reader, writer;  // empty: there is none
};
constexpr std::array kKinds = {
    KindRow{"y4m", "yuv4mpegpipe", "yuv4mpegpipe"},
    KindRow{"ts", "mpegts", "mpegts"},
    KindRow{"nut", "nut", "nut"},
    KindRow{"raw", "rawvideo", "rawvideo"},
    KindRow{"mkv", "matroska", "matroska"},
    KindRow{"webm", "matroska", "webm"},
    KindRow{"flv", "flv", "flv"},
    KindRow{"mp4", "mov", "mp4"},
    KindRow{"mov", "mov", "mov"},
    KindRow{"avi", "avi", "avi"},
    KindRow{"h264", "h264", "h264"},
    KindRow{"hevc", "hevc", "hevc"},
    KindRow{"mjpeg", "mjpeg", "mjpeg"},
    KindRow{"mpg", "mpeg", "mpeg"},
    KindRow{"ivf", "ivf", "ivf"},
    KindRow{"v4l2", "video4linux2", ""},
    KindRow{"rtsp", "rtsp", "rtsp"},
};

[[noreturn]] void FailKind(std::string_view option, std::string_view kind,
                           std::string_view KindRow::*has) {
  std::vector<std::string> kinds;
  for (const KindRow& row : kKinds)
    if (!(row.*has).empty()) kinds.emplace_back(row.kind);
  throw Failure(kExitUsage,
                fmt::format("{}: there is no '{}'{}", option, kind, Alternatives(kind, kinds)));
}

const KindRow& KindOf(std::string_view option, std::string_view kind,
                      std::string_view KindRow::*has) {
  const auto row = std::ranges::find(kKinds, kind, &KindRow::kind);
  if (row == kKinds.end() || ((*row).*has).empty()) FailKind(option, kind, has);
  return *row;
}

std::vector<std::string> Parts(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':')) {
    parts.emplace_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.emplace_back(text);
  return parts;
}

/// "640x480:yuv420p:25", of which the last two may be left out.
std::map<std::string, std::string> RawOptions(const std::vector<std::string>& parts) {
  constexpr std::string_view kForm = "expected raw:WIDTHxHEIGHT[:PIXELS[:RATE]]";
  const auto refuse = [&](const std::string& why) {
    throw Failure(kExitUsage,
                  fmt::format("--input-format: {}, as raw:640x480:yuv420p:25; {}", kForm, why));
  };
  if (parts.size() < 2 || parts.size() > 4) refuse("frames alone give no size");
  int width = 0, height = 0;
  const char* const end = parts[1].data() + parts[1].size();
  const auto cross = std::from_chars(parts[1].data(), end, width);
  if (cross.ec != std::errc() || cross.ptr == end || *cross.ptr != 'x')
    refuse(fmt::format("'{}' is not a size", parts[1]));
  const auto last = std::from_chars(cross.ptr + 1, end, height);
  constexpr int kMost = 32768;
  if (last.ec != std::errc() || last.ptr != end || std::min(width, height) < 1 ||
      std::max(width, height) > kMost)
    refuse(fmt::format("'{}' is not a size of 1 to {}", parts[1], kMost));
  const std::string pixels = parts.size() > 2 ? parts[2] : "yuv420p";
  if (av_get_pix_fmt(pixels.c_str()) == AV_PIX_FMT_NONE)
    refuse(fmt::format(
        "FFmpeg has no pixels '{}'; common ones are yuv420p, nv12, yuyv422, rgb24 and bgr24",
        pixels));
  const std::string rate = parts.size() > 3 ? parts[3] : "25";
  double number = 0;
  const auto read = std::from_chars(rate.data(), rate.data() + rate.size(), number);
  if (read.ec != std::errc() || read.ptr != rate.data() + rate.size() ||
      !(number >= 0.001 && number <= 10000))
    refuse(fmt::format("'{}' is not a rate of 0.001 to 10000 frames a second", rate));
  return {{"video_size", parts[1]}, {"pixel_format", pixels}, {"framerate", rate}};
}

/// Matches "mov,mp4,m4a".
bool IsNamed(std::string_view names, std::string_view name) {
  return fmt::format(",{},", names).find(fmt::format(",{},", name)) != std::string::npos;
}

const AVOutputFormat& MuxerOf(std::string_view name) {
  const AVOutputFormat* format = av_guess_format(std::string(name).c_str(), nullptr, nullptr);
  if (format == nullptr)
    throw Failure(kExitUnsupported, fmt::format("this FFmpeg cannot write {}", name));
  return *format;
}

}  // namespace

bool IsStandard(std::string_view name) { return name == "-"; }

bool IsAddress(std::string_view name) {
  const size_t at = name.find("://");
  return at != std::string_view::npos && at > 0 &&
         std::ranges::all_of(name.substr(0, at), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+';
         });
}

bool IsCamera(std::string_view name) { return name.starts_with("/dev/video"); }

bool IsStream(std::string_view name) {
  return IsStandard(name) || IsAddress(name) || IsCamera(name);
}

std::string Spoken(std::string_view name, bool input) {
  if (IsStandard(name)) return input ? "standard input" : "standard output";
  // Who may see it is nobody's business.
  const size_t start = IsAddress(name) ? name.find("://") + 3 : 0;
  const size_t at = name.substr(0, name.find('/', start)).rfind('@');
  if (start == 0 || at == std::string_view::npos || at < start) return std::string(name);
  return fmt::format("{}{}", name.substr(0, start), name.substr(at + 1));
}

Reader ReaderOf(const std::string& name, const std::string& kind) {
#ifdef FETTLE_HAVE_AVDEVICE
  avdevice_register_all();
#endif
  if (kind.empty() && !IsCamera(name)) return {};
  const std::vector<std::string> parts = Parts(kind.empty() ? "v4l2" : kind);
  const KindRow& row = KindOf("--input-format", parts[0], &KindRow::reader);
  Reader reader{av_find_input_format(std::string(row.reader).c_str()), {}};
  if (reader.format == nullptr)
    throw Failure(kExitUnsupported,
                  fmt::format("{}: this build cannot read {}{}", Spoken(name, true), row.kind,
                              row.kind == "v4l2"
                                  ? "; build it where libavdevice-dev is, or pipe: ffmpeg -f v4l2 "
                                    "-i /dev/video0 -f nut - | fettle enhance - -o -"
                                  : ""));
  if (row.kind == "raw")
    reader.options = RawOptions(parts);
  else if (parts.size() > 1)
    throw Failure(kExitUsage, fmt::format("--input-format: {} takes no value", row.kind));
  return reader;
}

const AVOutputFormat& WriterOf(const std::string& name, const std::string& kind,
                               const AVInputFormat& input) {
  if (!kind.empty()) return MuxerOf(KindOf("--output-format", kind, &KindRow::writer).writer);
  if (name.starts_with("rtmp")) return MuxerOf("flv");
  if (name.starts_with("rtsp:")) return MuxerOf("rtsp");
  if (IsAddress(name)) return MuxerOf("mpegts");
  if (IsStandard(name)) {
    for (const KindRow& row : kKinds)
      if (IsNamed(input.name, row.reader) && !row.writer.empty() &&
          (row.kind == "y4m" || row.kind == "ts" || row.kind == "raw"))
        return MuxerOf(row.writer);
    return MuxerOf("nut");
  }
  const AVOutputFormat* format = av_guess_format(nullptr, name.c_str(), nullptr);
  if (format == nullptr)
    throw Failure(kExitUsage,
                  fmt::format("{}: no container has this name; name one by --output-format "
                              "(y4m, ts, nut, mkv)",
                              name));
  return *format;
}

}  // namespace fettle::enhance
