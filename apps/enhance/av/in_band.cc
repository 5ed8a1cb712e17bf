#include "av/in_band.h"

#include <algorithm>
#include <array>

namespace fettle::enhance {
namespace {
constexpr std::array kCodecs = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG4};
}

InBand::InBand(const AVOutputFormat& container, const AVCodecParameters& video,
               AVRational time_base) {
  if (container.flags & AVFMT_GLOBALHEADER) return;
  if (std::ranges::find(kCodecs, video.codec_id) == kCodecs.end()) return;
  const AVBitStreamFilter* found = av_bsf_get_by_name("dump_extra");
  if (found == nullptr)
    throw Failure(kExitUnsupported, "this FFmpeg cannot write parameter sets (dump_extra)");
  AVBSFContext* made = nullptr;
  CheckAv(av_bsf_alloc(found, &made), found->name);
  filter_.reset(made);
  CheckAv(avcodec_parameters_copy(made->par_in, &video), found->name);
  made->time_base_in = time_base;
  CheckAv(av_bsf_init(made), found->name);
}

PacketPtr InBand::Apply(PacketPtr packet) {
  if (filter_ == nullptr) return packet;
  CheckAv(av_bsf_send_packet(filter_.get(), packet.get()), "parameter sets");
  CheckAv(av_bsf_receive_packet(filter_.get(), packet.get()), "parameter sets");
  return packet;
}

}  // namespace fettle::enhance
