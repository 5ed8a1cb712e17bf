// What a user calls a stream: "-", an address or a camera; and a kind of it, by the suffix that its
// files have.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "av/av.h"

namespace fettle::enhance {

/// Standard input or output.
bool IsStandard(std::string_view name);
/// "udp://…", "rtsp://…".
bool IsAddress(std::string_view name);
/// "/dev/video0".
bool IsCamera(std::string_view name);
/// One that is neither a file nor a folder.
bool IsStream(std::string_view name);
/// "standard input" for "-", else the name, without what an address has before '@'.
std::string Spoken(std::string_view name, bool input);

/// How a stream is read: FFmpeg's reader and what it has to be told.
struct Reader {
  const AVInputFormat* format = nullptr;  // null: what FFmpeg finds
  std::map<std::string, std::string> options;
};
/// Of --input-format ("" is whatever is found): "ts", "y4m", "raw:640x480:yuv420p:25". Throws
/// Failure (kExitUsage).
Reader ReaderOf(const std::string& name, const std::string& kind);

/// The container of an output: by --output-format, by the name's suffix or its protocol; of "-" by
/// `input`'s where it is for streams, else NUT. Throws Failure (kExitUsage).
const AVOutputFormat& WriterOf(const std::string& name, const std::string& kind,
                               const AVInputFormat& input);

}  // namespace fettle::enhance
