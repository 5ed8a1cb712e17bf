/* Fettle's enhancer: frames of a camera or a call in, better ones out, by the steps of
 * `fettle enhance` (docs/enhance-live.md). A library of its own, libfettle_enhance, since FFmpeg's
 * libraries are in it.
 *
 * An enhancer is of one size and kind of pixels, and keeps the state of its steps: scenes, noise,
 * what they allocate. It is used by one thread at a time; several enhancers run at once. Functions
 * return a status, and fettle_enhancer_error() of the same thread then says why; what they would
 * have returned through a pointer is untouched. None throws, and none prints.
 *
 * Structs start with their size, as those of fettle.h; all other members may stay zero. */
#ifndef FETTLE_ENHANCE_H_
#define FETTLE_ENHANCE_H_

#include <fettle/fettle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Planes, each of rows from above; samples of 10 bits are native 16-bit words. */
typedef enum fettle_pixels {
  FETTLE_I420 = 0,                 /* Y, U and V, these at half the width and height */
  FETTLE_NV12 = 1,                 /* Y, then U and V in turn, at half of both */
  FETTLE_I422 = 2,                 /* Y, U and V, these at half the width */
  FETTLE_I444 = 3,                 /* Y, U and V */
  FETTLE_I420P10 = 4,              /* as I420, of 10 bits */
  FETTLE_GRAY8 = 5,                /* Y */
  FETTLE_RGB24 = 6,                /* red, green and blue in turn */
  FETTLE_BGR24 = 7,                /* blue, green and red in turn, as OpenCV has them */
  FETTLE_PIXELS_LIMIT = 0x7fffffff /* none: room for any number that a caller gives */
} fettle_pixels;

#define FETTLE_MAX_PLANES 4

typedef struct fettle_frame {
  size_t struct_size;
  fettle_pixels pixels;
  int32_t width, height;
  const void* planes[FETTLE_MAX_PLANES];
  /* Bytes from row to row: at least a row's. */
  int64_t strides[FETTLE_MAX_PLANES];
  /* The caller's: a result has its frame's. */
  int64_t time;
  /* Of results: what fettle_frame_release frees. */
  void* owner;
} fettle_frame;
/* clang-format off */
#define FETTLE_FRAME_INIT {sizeof(fettle_frame), FETTLE_I420, 0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0}

typedef struct fettle_enhancer_options {
  size_t struct_size;
  /* "superres,sharpen=0.8"; NULL: superres. Those that look at later frames are refused. */
  const char* steps;
  /* fast, good or best; NULL: fast. */
  const char* network;
  /* Milliseconds that a frame may take: with less time it gets fewer steps. 0: all steps always. */
  double latency_ms;
  /* How coarsely frames were coded, as H.264 counts, for deblock; 0: 32. */
  double level;
  /* Samples go from 0 to 255 (JPEG, webcams); 0: from 16 to 235. RGB needs none of it. */
  int32_t full_range;
} fettle_enhancer_options;
#define FETTLE_ENHANCER_OPTIONS_INIT {sizeof(fettle_enhancer_options), 0, 0, 0, 0, 0}
/* clang-format on */

/* What was done so far. */
typedef struct fettle_enhancer_facts {
  size_t struct_size;
  int64_t frames;
  /* Of these, frames with fewer steps, for latency_ms. */
  int64_t reduced;
  /* Frames that were copied before the steps (NV12, RGB and BGR are converted), and after them
   * (converted back, or passed by all steps). 0: memory was read and lent where it lay. */
  int64_t copied_in, copied_out;
} fettle_enhancer_facts;

typedef struct fettle_enhancer fettle_enhancer;

/* Of the last failure in this thread; "" before any. Valid until the next call. */
FETTLE_API const char* fettle_enhancer_error(void);

/* `options` may be NULL. FETTLE_INVALID_ARGUMENT: a size or pixels that there are not, steps that
 * there are not; FETTLE_UNSUPPORTED: steps that look at later frames. Takes up to a second. */
FETTLE_API fettle_status fettle_enhancer_create(fettle_pixels pixels, int32_t width, int32_t height,
                                                const fettle_enhancer_options* options,
                                                fettle_enhancer** enhancer);
/* Results stay valid. */
FETTLE_API void fettle_enhancer_free(fettle_enhancer* enhancer);

/* The pixels and size of all results; planes and strides are 0. */
FETTLE_API fettle_status fettle_enhancer_result(const fettle_enhancer* enhancer,
                                                fettle_frame* result);

/* Enhances one frame. Its planes are read during the call only, and never written; planar YUV is
 * read where it lies. The result's planes are lent: they stay until fettle_frame_release, whatever
 * else is called. FETTLE_INVALID_ARGUMENT: another size or pixels than the enhancer's, a plane that
 * is NULL, a stride below a row, an address between words of 10 bits; the state is as before. */
FETTLE_API fettle_status fettle_enhancer_run(fettle_enhancer* enhancer, const fettle_frame* frame,
                                             fettle_frame* result);
/* Of a result, from any thread, once; its planes become NULL. NULL and frames of the caller's own
 * do nothing. */
FETTLE_API void fettle_frame_release(fettle_frame* result);

/* The next frame begins a new stream: scenes and noise are forgotten. */
FETTLE_API fettle_status fettle_enhancer_reset(fettle_enhancer* enhancer);
FETTLE_API fettle_status fettle_enhancer_facts_of(const fettle_enhancer* enhancer,
                                                  fettle_enhancer_facts* facts);

#ifdef __cplusplus
}
#endif

#endif /* FETTLE_ENHANCE_H_ */
