#include <fmt/format.h>

#include <chrono>

#include "av/pixels.h"
#include "basics/files.h"
#include "job/alerts.h"
#include "job/folder_record.h"
#include "job/job.h"
#include "picture/encoding.h"
#include "picture/file_format.h"

namespace fettle::enhance {
namespace {

FramePtr ReadPicture(const Plan& plan) {
  Input input(plan.input);
  Decoder decoder(input, 1);
  FramePtr picture;
  const auto take = [&](FramePtr frame) {
    if (picture == nullptr) picture = std::move(frame);
  };
  while (const PacketPtr packet = input.Read()) decoder.Decode(packet.get(), take);
  decoder.Decode(nullptr, take);
  if (picture == nullptr || decoder.damaged() > 0)
    throw Failure(kExitInvalidInput, plan.input.string() + ": the picture is damaged");
  return picture;
}

/// The output whole, and in the folder's record before it is there.
void Place(const Plan& plan, std::string_view bytes, const std::optional<std::string>& alerts) {
  std::filesystem::path part = plan.output;
  part += ".fettle-part";
  try {
    WriteFile(part, bytes);
    if (plan.record) plan.record->Note(plan.input, plan.output, part, 0);
    if (alerts) WriteWhole(plan.alert_file, *alerts);
    MoveInPlace(part, plan.output);
  } catch (const Failure&) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw;
  }
}

}  // namespace

JobResult RunPicture(const Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const AVCodec& codec = PictureCodecOf(plan.output);
  FramePtr frame = ReadPicture(plan);
  const AVPixelFormat format = PictureFormatOf(codec, plan.source_format);
  JobResult result{.frames_in = 1};
  frame =
      Converter(plan.first.format, plan.first.width, plan.first.height).Convert(std::move(frame));
  std::vector<std::atomic<int64_t>> nanoseconds(plan.chain.size());
  SceneLog scenes({.previews = plan.previews, .pictures = plan.pictures});
  SceneTracker().Add(*frame);
  const FramePtr before(av_frame_clone(frame.get()));
  if (before == nullptr) throw std::bad_alloc();
  frame = Chain(plan.chain, plan.first, nanoseconds).Apply(std::move(frame));
  std::optional<Trail> trail = TrailOf(plan);
  frame->pts = 0;
  if (trail) trail->Take(*frame);
  if (scenes.Wants(*before)) scenes.Compare(*before, *frame);
  scenes.Add(*frame);
  result.scenes = scenes.records();
  for (size_t i = 0; i < plan.chain.size(); ++i)
    result.times.push_back({std::string(plan.chain[i].row->name),
                            static_cast<double>(nanoseconds[i]) * 1e-6,
                            plan.GainOf(*plan.chain[i].row)});
  frame = Converter(format, plan.encoder.width, plan.encoder.height).Convert(std::move(frame));
  std::optional<std::string> alerts;
  if (trail) alerts = AlertsText(plan, *trail, 0);
  if (trail) result.alerts = trail->alerts();
  std::string file = EncodedPicture(codec, *frame);
  if (plan.orientation > 1 && codec.id == AV_CODEC_ID_MJPEG)
    SetJpegOrientation(plan.orientation, file);
  Place(plan, file, alerts);
  result.frames_out = 1;
  result.width = frame->width;
  result.height = frame->height;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace fettle::enhance
