/* A camera loop by the enhancer's library: frames of raw I420 from standard input to standard
 * output, twice the size. What has no time for all steps goes through with fewer.
 *
 *   ffmpeg -f v4l2 -i /dev/video0 -f rawvideo -pix_fmt yuv420p - | example_camera 640 480 |
 *     ffplay -f rawvideo -pixel_format yuv420p -video_size 1280x960 - */
#include <fettle/enhance.h>
#include <stdio.h>
#include <stdlib.h>

static int WritePlane(const fettle_frame* frame, int plane, int width, int height) {
  const char* row = frame->planes[plane];
  for (int y = 0; y < height; ++y, row += frame->strides[plane])
    if (fwrite(row, 1, (size_t)width, stdout) != (size_t)width) return 0;
  return 1;
}

/* One frame; 0 where the reader went away. */
static int WriteFrame(const fettle_frame* frame) {
  const int half_width = (frame->width + 1) / 2, half_height = (frame->height + 1) / 2;
  return WritePlane(frame, 0, frame->width, frame->height) &&
         WritePlane(frame, 1, half_width, half_height) &&
         WritePlane(frame, 2, half_width, half_height) && fflush(stdout) == 0;
}

static int Fail(void) {
  fprintf(stderr, "camera: %s\n", fettle_enhancer_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s WIDTH HEIGHT < frames.yuv > larger.yuv\n", argv[0]);
    return 2;
  }
  const int width = atoi(argv[1]), height = atoi(argv[2]);
  fettle_enhancer_options options = FETTLE_ENHANCER_OPTIONS_INIT;
  options.steps = "superres,sharpen=0.5";
  options.latency_ms = 40;
  fettle_enhancer* enhancer = NULL;
  if (fettle_enhancer_create(FETTLE_I420, width, height, &options, &enhancer) != FETTLE_OK)
    return Fail();
  const size_t luma = (size_t)width * (size_t)height;
  const size_t chroma = (size_t)((width + 1) / 2) * (size_t)((height + 1) / 2);
  unsigned char* memory = malloc(luma + 2 * chroma);
  fettle_frame frame = FETTLE_FRAME_INIT;
  frame.width = width;
  frame.height = height;
  frame.planes[0] = memory;
  frame.planes[1] = memory + luma;
  frame.planes[2] = memory + luma + chroma;
  frame.strides[0] = width;
  frame.strides[1] = frame.strides[2] = (width + 1) / 2;
  int goes_on = memory != NULL;
  while (goes_on && fread(memory, 1, luma + 2 * chroma, stdin) == luma + 2 * chroma) {
    fettle_frame result = FETTLE_FRAME_INIT;
    if (fettle_enhancer_run(enhancer, &frame, &result) != FETTLE_OK) {
      /* The enhancer is as before: this frame is left out, and the next one may do. */
      Fail();
      continue;
    }
    goes_on = WriteFrame(&result);
    fettle_frame_release(&result);
    ++frame.time;
  }
  fettle_enhancer_facts facts = {.struct_size = sizeof facts};
  fettle_enhancer_facts_of(enhancer, &facts);
  fprintf(stderr, "%lld frames, %lld of them with fewer steps\n", (long long)facts.frames,
          (long long)facts.reduced);
  fettle_enhancer_free(enhancer);
  free(memory);
  return 0;
}
