/* A user's project: one grey frame through the installed enhancer, at twice its size. */
#include <fettle/enhance.h>
#include <stdio.h>

int main(void) {
  static unsigned char grey[24 * 32];
  fettle_enhancer_options options = FETTLE_ENHANCER_OPTIONS_INIT;
  fettle_enhancer* enhancer = NULL;
  fettle_frame frame = FETTLE_FRAME_INIT, result = FETTLE_FRAME_INIT;
  options.steps = "superres";
  if (fettle_enhancer_create(FETTLE_GRAY8, 32, 24, &options, &enhancer) != FETTLE_OK) {
    fprintf(stderr, "%s\n", fettle_enhancer_error());
    return 1;
  }
  frame.pixels = FETTLE_GRAY8;
  frame.width = 32;
  frame.height = 24;
  frame.planes[0] = grey;
  frame.strides[0] = 32;
  if (fettle_enhancer_run(enhancer, &frame, &result) != FETTLE_OK) {
    fprintf(stderr, "%s\n", fettle_enhancer_error());
    return 1;
  }
  printf("%d x %d\n", (int)result.width, (int)result.height);
  const int right = result.width == 64 && result.height == 48;
  fettle_frame_release(&result);
  fettle_enhancer_free(enhancer);
  return right ? 0 : 1;
}
