#include "job/verify.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "job/found_times.h"
#include "job/sample_output.h"

namespace fettle::enhance {
namespace {

/// By number, of the packets of video.
struct KeyPackets {
  int64_t middle = 0, last = 0, packets = 0;
};

void ForVideoPackets(Input& input, const std::function<void(const AVPacket&, int64_t)>& take) {
  int64_t number = 0;
  while (const PacketPtr packet = input.Read())
    if (packet->stream_index == input.video_index() && packet->size > 0) take(*packet, number++);
}

/// Reads all of the file.
KeyPackets FindKeys(Input& input, int64_t frames, ReadAgain& read) {
  KeyPackets keys;
  while (const PacketPtr packet = input.Read()) {
    const AVRational base = input.format().streams[packet->stream_index]->time_base;
    read.packets.Add(*packet, packet->stream_index, base);
    if (packet->stream_index != input.video_index() || packet->size <= 0) continue;
    read.frames.push_back(packet->pts == AV_NOPTS_VALUE
                              ? PacketSeen::kNoTime
                              : static_cast<double>(packet->pts) * av_q2d(base));
    const int64_t number = keys.packets++;
    if (!(packet->flags & AV_PKT_FLAG_KEY)) continue;
    keys.last = number;
    if (number <= frames / 2) keys.middle = number;
  }
  return keys;
}

/// "" where the frames of the middle and the end can be decoded.
std::string WhyNotTheRest(const Plan& plan, const std::filesystem::path& file,
                          const KeyPackets& keys) {
  Input input(file);
  std::optional<Decoder> middle, last;
  int64_t of_middle = 0, of_last = 0;
  bool right = true;
  const auto counts = [&](int64_t& count) {
    return [&](FramePtr frame) {
      ++count;
      right = right && frame->width == plan.encoder.width && frame->height == plan.encoder.height;
    };
  };
  ForVideoPackets(input, [&](const AVPacket& packet, int64_t number) {
    if (number == keys.middle) middle.emplace(input, 1);
    if (number == keys.last) last.emplace(input, 1);
    if (middle && of_middle == 0) middle->Decode(&packet, counts(of_middle));
    if (last) last->Decode(&packet, counts(of_last));
  });
  if (middle && of_middle == 0) middle->Decode(nullptr, counts(of_middle));
  if (last) last->Decode(nullptr, counts(of_last));
  if (of_middle == 0 || middle->damaged() > 0) return "no frame in its middle can be decoded";
  if (of_last == 0 || last->damaged() > 0) return "its last frame cannot be decoded";
  return right ? "" : "its frames have another size";
}

/// "" where it is right; `read` gets its packets.
std::string WhyNot(const Plan& plan, const std::filesystem::path& file, int64_t frames,
                   ReadAgain& read) {
  try {
    Input input(file);
    const bool decodes = avcodec_find_decoder(input.video().codecpar->codec_id) != nullptr;
    if (decodes &&
        !DecodesFrame(input.format(), input.video(), plan.encoder.width, plan.encoder.height))
      return "its first frame cannot be decoded";
    Input whole(file);
    const KeyPackets keys = FindKeys(whole, frames, read);
    if (keys.packets != frames) return fmt::format("it has {} frames of {}", keys.packets, frames);
    return decodes ? WhyNotTheRest(plan, file, keys) : "";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

}  // namespace

Verified VerifyOutput(const Plan& plan, const std::filesystem::path& file,
                      const Assembled& assembled) {
  ReadAgain read;
  const std::string reason = WhyNot(plan, file, assembled.frames, read);
  if (!reason.empty())
    throw Failure(kExitFailed, FETTLE_INTERNAL,
                  fmt::format("{}: the written file is wrong: {}; the job's folder is kept",
                              plan.output.string(), reason));
  const Input input(plan.input, plan.cut), output(file);
  const std::vector<int> found = FoundAgain(input, assembled.written, output.format());
  Verified verified;
  if (plan.frames_have_times)
    verified.of_streams =
        FindChangesOfStreams(input, plan, assembled.written, found, read, plan.shift);
  verified.of_frames = FindMovedFrames(input, plan, assembled.written, read);
  return verified;
}

}  // namespace fettle::enhance
