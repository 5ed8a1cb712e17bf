/* Fettle's enhancer improves the frames of a camera or a call by the steps of `fettle enhance`
 * (docs/enhance-live.md). It is a separate library, libfettle_enhance, because of the licence of
 * FFmpeg's libraries, which it uses.
 *
 * An enhancer has one size and one kind of pixels, and keeps the state of its steps: scenes, noise,
 * memory. One thread at a time may use it; several enhancers may run in parallel. Functions return
 * a status. After a failure, fettle_enhancer_error() of the same thread says why, and pointers to
 * results are untouched. No function throws or prints.
 *
 * Structs start with their size, as those of fettle.h; all other members may stay zero. */
#ifndef FETTLE_ENHANCE_H_
#define FETTLE_ENHANCE_H_

#include <fettle/fettle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Planes with rows from top to bottom. Samples of 10 bits are native 16-bit words. */
typedef enum fettle_pixels {
  FETTLE_I420 = 0,                 /* Y, then U and V at half the width and height */
  FETTLE_NV12 = 1,                 /* Y, then U and V interleaved at half the width and height */
  FETTLE_I422 = 2,                 /* Y, then U and V at half the width */
  FETTLE_I444 = 3,                 /* Y, U and V */
  FETTLE_I420P10 = 4,              /* as I420, with 10 bits */
  FETTLE_GRAY8 = 5,                /* Y */
  FETTLE_RGB24 = 6,                /* red, green, blue interleaved */
  FETTLE_BGR24 = 7,                /* blue, green, red interleaved, as in OpenCV */
  FETTLE_PIXELS_LIMIT = 0x7fffffff /* not a kind: room for any number from a caller */
} fettle_pixels;

#define FETTLE_MAX_PLANES 4

typedef struct fettle_frame {
  size_t struct_size;
  fettle_pixels pixels;
  int32_t width, height;
  const void* planes[FETTLE_MAX_PLANES];
  /* Bytes from one row to the next; at least the bytes of a row. */
  int64_t strides[FETTLE_MAX_PLANES];
  /* Set by the caller; a result has the time of its frame. */
  int64_t time;
  /* In results: what fettle_frame_release frees. */
  void* owner;
} fettle_frame;
/* clang-format off */
#define FETTLE_FRAME_INIT {sizeof(fettle_frame), FETTLE_I420, 0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0}

typedef struct fettle_enhancer_options {
  size_t struct_size;
  /* "superres,sharpen=0.8"; NULL: superres. Steps that need later frames are refused. */
  const char* steps;
  /* fast, good or best; NULL: fast. */
  const char* network;
  /* Milliseconds that a frame may take; a frame that would take longer gets fewer steps. 0: always
   * all steps. Negative numbers are refused, here and in level. */
  double latency_ms;
  /* For deblock: how coarsely frames were coded, on the scale of H.264; 0: 32. */
  double level;
  /* Not 0: samples from 0 to 255 (JPEG, webcams); 0: from 16 to 235. Ignored for RGB. */
  int32_t full_range;
} fettle_enhancer_options;
#define FETTLE_ENHANCER_OPTIONS_INIT {sizeof(fettle_enhancer_options), 0, 0, 0, 0, 0}
/* clang-format on */

/* The work so far. */
typedef struct fettle_enhancer_facts {
  size_t struct_size;
  int64_t frames;
  /* Those that got fewer steps because of latency_ms. */
  int64_t reduced;
  /* Frames that were copied before the steps (NV12, RGB and BGR are converted, and frames of fewer
   * steps may be scaled) and after them (converted back, or unchanged by all steps). 0: all memory
   * was used in place. */
  int64_t copied_in, copied_out;
} fettle_enhancer_facts;

typedef struct fettle_enhancer fettle_enhancer;

/* The message of this thread's last failure; "" before any. Valid until the next call. */
FETTLE_API const char* fettle_enhancer_error(void);

/* `options` may be NULL. Takes up to a second. Fails with FETTLE_INVALID_ARGUMENT for unknown
 * pixels, steps and sizes out of range, FETTLE_UNSUPPORTED for steps that need later frames. */
FETTLE_API fettle_status fettle_enhancer_create(fettle_pixels pixels, int32_t width, int32_t height,
                                                const fettle_enhancer_options* options,
                                                fettle_enhancer** enhancer);
/* Results stay valid. */
FETTLE_API void fettle_enhancer_free(fettle_enhancer* enhancer);

/* The pixels and size of all results; planes and strides are 0. */
FETTLE_API fettle_status fettle_enhancer_result(const fettle_enhancer* enhancer,
                                                fettle_frame* result);

/* Enhances one frame. Its planes are read during the call only, and never written. Planar YUV is
 * read in place. The result's planes are lent: they are valid until fettle_frame_release, whatever
 * else is called. Fails with FETTLE_INVALID_ARGUMENT for another size or other pixels than the
 * enhancer's, a NULL plane, a stride shorter than a row, or misaligned samples of 10 bits; the
 * state is then as before. */
FETTLE_API fettle_status fettle_enhancer_run(fettle_enhancer* enhancer, const fettle_frame* frame,
                                             fettle_frame* result);
/* Frees a result, once, from any thread; its planes become NULL. Does nothing for NULL and for the
 * caller's own frames. */
FETTLE_API void fettle_frame_release(fettle_frame* result);

/* Forgets scenes and noise: the next frame begins a new stream. */
FETTLE_API fettle_status fettle_enhancer_reset(fettle_enhancer* enhancer);
FETTLE_API fettle_status fettle_enhancer_facts_of(const fettle_enhancer* enhancer,
                                                  fettle_enhancer_facts* facts);

#ifdef __cplusplus
}
#endif

#endif /* FETTLE_ENHANCE_H_ */
