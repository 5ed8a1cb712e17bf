#include "picture/level.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include <libavutil/video_enc_params.h>
}

namespace fettle::enhance {

double LevelOf(const AVFrame& frame) {
  const AVFrameSideData* data = av_frame_get_side_data(&frame, AV_FRAME_DATA_VIDEO_ENC_PARAMS);
  if (data == nullptr) return -1;
  auto* coded = reinterpret_cast<AVVideoEncParams*>(data->data);
  const bool h264 = coded->type == AV_VIDEO_ENC_PARAMS_H264;
  if (coded->nb_blocks == 0 || (!h264 && coded->type != AV_VIDEO_ENC_PARAMS_MPEG2)) return -1;
  double sum = 0;
  for (unsigned i = 0; i < coded->nb_blocks; ++i)
    sum += coded->qp + av_video_enc_params_block(coded, i)->delta_qp;
  const double mean = sum / coded->nb_blocks;
  // MPEG-1, -2 and -4 divide by twice their number.
  return h264 ? mean : 6 * std::log2(std::max(mean, 1.0) * 2 / 0.625);
}

}  // namespace fettle::enhance
