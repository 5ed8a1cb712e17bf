#include "job/verify.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

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

KeyPackets FindKeys(const std::filesystem::path& file, int64_t frames) {
  Input input(file);
  KeyPackets keys;
  ForVideoPackets(input, [&](const AVPacket& packet, int64_t number) {
    keys.packets = number + 1;
    if (!(packet.flags & AV_PKT_FLAG_KEY)) return;
    keys.last = number;
    if (number <= frames / 2) keys.middle = number;
  });
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
  if (of_middle == 0 || middle->damaged() > 0) return "no frame of its middle can be decoded";
  if (of_last == 0 || last->damaged() > 0) return "its last frame cannot be decoded";
  return right ? "" : "its frames have another size";
}

std::string WhyNot(const Plan& plan, const std::filesystem::path& file, int64_t frames) {
  try {
    Input input(file);
    if (avcodec_find_decoder(input.video().codecpar->codec_id) != nullptr &&
        !DecodesFrame(input.format(), input.video(), plan.encoder.width, plan.encoder.height))
      return "its first frame cannot be decoded";
    const KeyPackets keys = FindKeys(file, frames);
    if (keys.packets != frames) return fmt::format("it has {} frames of {}", keys.packets, frames);
    if (avcodec_find_decoder(input.video().codecpar->codec_id) == nullptr) return "";
    return WhyNotTheRest(plan, file, keys);
  } catch (const Failure& failure) {
    return failure.what();
  }
}

}  // namespace

void VerifyOutput(const Plan& plan, const std::filesystem::path& file, int64_t frames) {
  const std::string reason = WhyNot(plan, file, frames);
  if (!reason.empty())
    throw Failure(kExitFailed, FETTLE_INTERNAL,
                  fmt::format("{}: what was written is not right: {}; the job's folder is kept",
                              plan.output.string(), reason));
}

}  // namespace fettle::enhance
