// The streams of an input beside its video, and how they get into a container.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "av/av.h"
#include "av/input.h"

namespace fettle::enhance {

/// Quarters clockwise that the stream says its frames are to be shown turned by, 0 to 3.
int TurnsOf(const AVStream& stream);

/// One stream of the input in the output.
struct StreamFate {
  int index = 0;
  std::string type, codec;
  bool carried = true;
  bool made_anew = false;  // from chapters or a tag: is in the output all the same
  std::string reason;      // of what is not carried
};

/// "SubRip subtitles", "FLAC (Free Lossless Audio Codec)".
std::string CodecText(AVCodecID codec);

/// Throws Failure (kExitUsage) where no container has such a name.
const AVOutputFormat& ContainerOf(const std::filesystem::path& path);

/// Of every stream of the input, where `output` is its file's name.
std::vector<StreamFate> FatesOf(const Input& input, const std::filesystem::path& output);
/// One sentence for each thing, other than streams, that the container cannot hold: chapters and
/// rotation.
std::vector<std::string> LossesOf(const Input& input, const AVOutputFormat& container,
                                  const std::string& suffix);

/// Light of the master and of the brightest frame (HDR10), which some files have in frames alone.
using LightData = std::vector<std::pair<AVPacketSideDataType, std::string>>;
LightData LightOf(const AVFrame& frame);

/// Makes the output's streams: carried ones with their parameters, metadata, disposition and side
/// data as the input has them, the video with `video` for its parameters and `light` where it has
/// none of its own; then chapters and metadata. Returns the output's index of each input stream, -1
/// where it is not carried.
std::vector<int> CopyStructure(const Input& input, const std::vector<StreamFate>& fates,
                               const AVCodecParameters& video, const LightData& light,
                               AVFormatContext& output);

}  // namespace fettle::enhance
