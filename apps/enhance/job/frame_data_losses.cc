// Data beside frames that the encoders do not write.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/survey.h"
#include "job/trial.h"

namespace fettle::enhance {
namespace {

struct FrameDataRow {
  AVFrameSideDataType type;
  std::string_view what, kept_by;  // the encoder that writes it; empty: none
};
constexpr std::array kRows = {
    FrameDataRow{AV_FRAME_DATA_A53_CC, "closed captions are lost", "libx264"},
    FrameDataRow{AV_FRAME_DATA_STEREO3D, "how frames hold two views (stereo 3D) is lost",
                 "libx264"},
    FrameDataRow{AV_FRAME_DATA_DYNAMIC_HDR_PLUS, "light of each scene (HDR10+) is lost", ""},
    FrameDataRow{AV_FRAME_DATA_DOVI_METADATA, "the metadata of Dolby Vision is lost", ""},
    FrameDataRow{AV_FRAME_DATA_AFD, "the description of the active picture (AFD) is lost", ""},
    FrameDataRow{AV_FRAME_DATA_S12M_TIMECODE, "timecodes of frames are lost", ""},
    FrameDataRow{AV_FRAME_DATA_ICC_PROFILE, "the colour profile is lost", ""},
};

}  // namespace

std::vector<std::string> FrameDataLosses(const Plan& plan) {
  const Sample sample = SampleOf(plan.input, plan.cut, 0);
  std::vector<std::string> losses;
  for (const FrameDataRow& row : kRows) {
    const auto has = [&](const FramePtr& frame) {
      return av_frame_get_side_data(frame.get(), row.type) != nullptr;
    };
    if (row.kept_by != plan.encoder.name && std::ranges::any_of(sample.frames, has))
      losses.emplace_back(row.what);
  }
  return losses;
}

}  // namespace fettle::enhance
