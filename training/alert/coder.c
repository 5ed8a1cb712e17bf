/* What is left of frames after H.264: x264's own reconstruction, without a process or a decoder.
 *
 *   cc -O2 -shared -fPIC training/alert/coder.c -o build/alert/libcoder.so -lx264
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <x264.h>

static void Fill(x264_image_t* image, const uint8_t* bytes, int width, int height) {
  for (int plane = 0; plane < 3; ++plane) {
    const int w = plane ? width / 2 : width, h = plane ? height / 2 : height;
    for (int y = 0; y < h; ++y, bytes += w)
      memcpy(image->plane[plane] + (ptrdiff_t)y * image->i_stride[plane], bytes, w);
  }
}

/* x264 keeps U and V in turns. */
static void Read(const x264_image_t* image, uint8_t* bytes, int width, int height) {
  for (int y = 0; y < height; ++y, bytes += width)
    memcpy(bytes, image->plane[0] + (ptrdiff_t)y * image->i_stride[0], width);
  for (int first = 0; first < 2; ++first)
    for (int y = 0; y < height / 2; ++y, bytes += width / 2)
      for (int x = 0; x < width / 2; ++x)
        bytes[x] = image->plane[1][(ptrdiff_t)y * image->i_stride[1] + 2 * x + first];
}

/* Codes `count` frames in place, without B-frames and in one thread. Returns 0 where it can. */
int CodeInPlace(uint8_t* frames, int count, int width, int height, float crf, const char* preset) {
  x264_param_t param;
  if (x264_param_default_preset(&param, preset, "zerolatency") < 0) return 1;
  param.i_width = width, param.i_height = height, param.i_csp = X264_CSP_I420;
  param.i_fps_num = 25, param.i_fps_den = 1, param.i_threads = 1, param.b_full_recon = 1;
  param.i_log_level = X264_LOG_ERROR, param.rc.i_rc_method = X264_RC_CRF;
  param.rc.f_rf_constant = crf, param.i_keyint_max = 250, param.i_bframe = 0;
  x264_t* coder = x264_encoder_open(&param);
  x264_picture_t in, out;
  if (!coder || x264_picture_alloc(&in, X264_CSP_I420, width, height) < 0) return 1;
  const ptrdiff_t bytes = (ptrdiff_t)width * height * 3 / 2;
  int failed = 0;
  for (int i = 0; i < count && !failed; ++i) {
    x264_nal_t* units;
    int unit_count;
    Fill(&in.img, frames + i * bytes, width, height);
    in.i_pts = i, in.i_type = X264_TYPE_AUTO;
    failed = x264_encoder_encode(coder, &units, &unit_count, &in, &out) <= 0;
    if (!failed) Read(&out.img, frames + i * bytes, width, height);
  }
  x264_picture_clean(&in);
  x264_encoder_close(coder);
  return failed;
}
