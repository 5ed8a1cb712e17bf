/* Fettle's C interface: load an ONNX model, run it, read the results; the matrix product alone;
 * texts by language models; and a tuner for code of the caller's own.
 *
 * Handles are opaque and freed by the function named after them; freeing NULL does nothing. Every
 * function that can fail returns a status and leaves a message for fettle_last_error() of the same
 * thread; what it would have returned through a pointer is then untouched. No function throws, and
 * none prints. Every function may be called from any thread at any time, with these limits: a
 * handle is freed by one thread once no other uses it, and elements of tensors are the caller's to
 * order. Models are immutable. Calls of one session come one after another, those of several
 * sessions at once; fettle_session_cancel never waits. docs/api-c.md has a table. Texts are UTF-8,
 * and those returned belong to the library.
 *
 * Structs start with their size, which their FETTLE_..._INIT fills in (as does
 * {.struct_size = sizeof(options), ...}); all other members may stay zero, the default. Later
 * versions of the library append members and never move one. The library reads and writes at most
 * struct_size bytes: it takes the defaults for what an older program's struct does not have. Of a
 * newer program's struct it leaves what it does not know: options that are set there fail with
 * FETTLE_UNSUPPORTED, results become zero there. A struct_size of 0, or of no version, fails with
 * FETTLE_INVALID_ARGUMENT. */
#ifndef FETTLE_FETTLE_H_
#define FETTLE_FETTLE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FETTLE_API __attribute__((visibility("default")))
#else
#define FETTLE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FETTLE_MAX_RANK 16

typedef enum fettle_status {
  FETTLE_OK = 0,
  FETTLE_INVALID_ARGUMENT = 1,
  FETTLE_INVALID_MODEL = 2,
  FETTLE_UNSUPPORTED = 3,
  FETTLE_NOT_FOUND = 4,
  FETTLE_VERSION_MISMATCH = 5,
  FETTLE_CORRUPT = 6,
  FETTLE_IO = 7,
  FETTLE_OUT_OF_MEMORY = 8,
  FETTLE_DEVICE_UNAVAILABLE = 9,
  FETTLE_DEVICE_ERROR = 10,
  FETTLE_BUILD_FAILED = 11,
  FETTLE_CANCELLED = 12,
  FETTLE_BUSY = 13,
  FETTLE_INTERNAL = 14
} fettle_status;

/* The numbers of ONNX's TensorProto.DataType. 4-bit types take one byte per element. */
typedef enum fettle_dtype {
  FETTLE_UNDEFINED = 0,
  FETTLE_F32 = 1,
  FETTLE_U8 = 2,
  FETTLE_I8 = 3,
  FETTLE_U16 = 4,
  FETTLE_I16 = 5,
  FETTLE_I32 = 6,
  FETTLE_I64 = 7,
  FETTLE_BOOL = 9,
  FETTLE_F16 = 10,
  FETTLE_F64 = 11,
  FETTLE_U32 = 12,
  FETTLE_U64 = 13,
  FETTLE_BF16 = 16,
  FETTLE_F8E4M3FN = 17,
  FETTLE_F8E5M2 = 19,
  FETTLE_U4 = 21,
  FETTLE_I4 = 22
} fettle_dtype;

typedef enum fettle_log_level {
  FETTLE_LOG_ERROR = 0,
  FETTLE_LOG_WARN = 1,
  FETTLE_LOG_INFO = 2,
  FETTLE_LOG_DEBUG = 3
} fettle_log_level;

typedef struct fettle_model fettle_model;
typedef struct fettle_session fettle_session;
typedef struct fettle_tensor fettle_tensor;
typedef struct fettle_run fettle_run;

/* ---- The library ---- */

/* "0.1.0". */
FETTLE_API const char* fettle_version(void);
/* What went wrong in this thread's last failing call; "" where none failed. Good until the next
 * failing call of the thread. */
FETTLE_API const char* fettle_last_error(void);
/* "invalid argument" and so on; "unknown" for other numbers. */
FETTLE_API const char* fettle_status_name(fettle_status status);
/* "f32" and so on; "undefined" for other numbers. */
FETTLE_API const char* fettle_dtype_name(fettle_dtype dtype);
/* Bytes of one element; 0 for FETTLE_UNDEFINED and other numbers. */
FETTLE_API size_t fettle_dtype_size(fettle_dtype dtype);

/* Receives one line (not ended by a newline) from any thread, one at a time; `line` is good during
 * the call, which must not call this library. */
typedef void (*fettle_log_function)(fettle_log_level level, const char* line, void* user);
/* Sends lines of `level` and above to `function` for the whole process; NULL: nowhere, which is the
 * default. `user` must stay good until another function is set. */
FETTLE_API void fettle_set_log(fettle_log_function function, void* user, fettle_log_level level);

/* ---- Models ---- */

/* Loads an .onnx file or a .fettle package, whatever its name; it stays mapped while the model
 * lives. Fails with FETTLE_NOT_FOUND, FETTLE_IO, FETTLE_INVALID_MODEL, FETTLE_UNSUPPORTED with all
 * unsupported operators named, or for packages FETTLE_CORRUPT and FETTLE_VERSION_MISMATCH. A
 * package of another device or version is planned anew, with a line to the log. */
FETTLE_API fettle_status fettle_model_load(const char* path, fettle_model** model);
/* The same from memory, which is copied. `name` starts error messages; NULL means "model". */
FETTLE_API fettle_status fettle_model_load_bytes(const void* bytes, size_t size, const char* name,
                                                 fettle_model** model);
/* Sessions keep what they need, so a model may be freed before them. */
FETTLE_API void fettle_model_free(fettle_model* model);

FETTLE_API size_t fettle_model_input_count(const fettle_model* model);
FETTLE_API size_t fettle_model_output_count(const fettle_model* model);

typedef struct fettle_value_info {
  size_t struct_size;
  const char* name;
  fettle_dtype dtype;                   /* FETTLE_UNDEFINED where the model does not say */
  int rank;                             /* -1 where the model does not say */
  int64_t dims[FETTLE_MAX_RANK];        /* -1: open */
  const char* symbols[FETTLE_MAX_RANK]; /* names of open extents; NULL: none */
} fettle_value_info;
#define FETTLE_VALUE_INFO_INIT                                          \
  {                                                                     \
    sizeof(fettle_value_info), NULL, FETTLE_UNDEFINED, 0, {0}, { NULL } \
  }
/* Fails with FETTLE_NOT_FOUND past the end. The names live as long as the model. */
FETTLE_API fettle_status fettle_model_input(const fettle_model* model, size_t index,
                                            fettle_value_info* info);
FETTLE_API fettle_status fettle_model_output(const fettle_model* model, size_t index,
                                             fettle_value_info* info);

/* ---- Tensors: row-major, in host memory; others are made by fettle_session_create_tensor ---- */

/* Zero-filled. Fails with FETTLE_INVALID_ARGUMENT or FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_tensor_create(fettle_dtype dtype, int rank, const int64_t* dims,
                                              fettle_tensor** tensor);
/* Over memory of the caller's, aligned to the element, which must outlive the tensor and every
 * session it is an input of. `size` must be the tensor's size in bytes. Inputs are only read. */
FETTLE_API fettle_status fettle_tensor_wrap(fettle_dtype dtype, int rank, const int64_t* dims,
                                            void* data, size_t size, fettle_tensor** tensor);
/* Fails with FETTLE_BUSY, and frees nothing, while the tensor is mapped through this handle. */
FETTLE_API fettle_status fettle_tensor_free(fettle_tensor* tensor);
FETTLE_API fettle_dtype fettle_tensor_dtype(const fettle_tensor* tensor);
FETTLE_API int fettle_tensor_rank(const fettle_tensor* tensor);
/* rank extents, which live as long as the tensor. */
FETTLE_API const int64_t* fettle_tensor_dims(const fettle_tensor* tensor);
/* Row-major elements. NULL where the tensor has to be mapped: in a device's memory, unless that is
 * shared at any time (svm "fine") and row-major. */
FETTLE_API void* fettle_tensor_data(const fettle_tensor* tensor);
/* Of its elements in row-major order, in bytes. */
FETTLE_API size_t fettle_tensor_size(const fettle_tensor* tensor);

/* ---- Sessions ---- */

typedef struct fettle_session_options {
  size_t struct_size;
  int threads;                      /* the caller included; 0: all cores */
  int reference_only;               /* not 0: every operator by its scalar reference */
  const char* const* extra_outputs; /* any values of the model to return besides its outputs */
  size_t extra_output_count;
  const char* device;    /* auto|cpu|opencl[:PLATFORM[:DEVICE]]; NULL: auto */
  int strict_device;     /* not 0: fails rather than let the CPU compute what the device cannot */
  const char* precision; /* high|normal|low: whether half precision may stand for f32; NULL: high */
  const char* memory;    /* auto|buffer|image, of the device; NULL: auto */
  int queue_window;      /* unfinished commands at a time, so that others get the device; 0: any */
  double kernel_ms;      /* launches aim not to last longer; 0: any */
  const char* programs;  /* folder to keep the device's built programs in, "" for the user's cache;
                            NULL: keep nothing */
  const char* svm;       /* off|coarse|fine: buffers in memory that host and device address alike;
                            off, with a line to the log, where the device has none; NULL: off */
  const char* when_busy; /* wait|fail: what a call does while another thread's call uses the
                            session, the latter with FETTLE_BUSY; NULL: wait */
  const char* subnormals; /* flush|keep: whether the CPU's kernels take numbers nearer to zero than
                             1.2e-38 as zero, or as IEEE 754 says, which may take 100 times as
                             long. The calling thread's own mode is kept. NULL: flush */
  int64_t max_memory;     /* bytes of host memory that weights, work and results may take; 0: four
                               fifths of the machine's, for the process. Past it: OUT_OF_MEMORY */
  int64_t max_runs;       /* of fettle_session_run_async that wait or work at a time; 0: 16 */
} fettle_session_options;
#define FETTLE_SESSION_OPTIONS_INIT                                                             \
  {                                                                                             \
    sizeof(fettle_session_options), 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, NULL, NULL, NULL, \
        NULL, 0, 0                                                                              \
  }

/* `options` may be NULL, and those set to zero are the defaults: all cores, the CPU alone. Fails
 * with FETTLE_INVALID_ARGUMENT on more than 1024 threads, FETTLE_NOT_FOUND where an extra output is
 * no value of the model, FETTLE_DEVICE_UNAVAILABLE where the device is not there. */
FETTLE_API fettle_status fettle_session_create(const fettle_model* model,
                                               const fettle_session_options* options,
                                               fettle_session** session);
/* Cancels the asynchronous runs that wait, waits for the one that works, and has all of them told;
 * in a callback of the session's own it frees the session and goes back to the callback. */
FETTLE_API void fettle_session_free(fettle_session* session);
/* Takes a reference to the tensor's memory for this and later runs; `tensor` may be freed. Setting
 * an input again replaces it. Fails with FETTLE_NOT_FOUND on names that are no model input's. */
FETTLE_API fettle_status fettle_session_set_input(fettle_session* session, const char* name,
                                                  const fettle_tensor* tensor);
/* The same for a tensor that runs write this output into, which must have its type and shape then;
 * fettle_session_output gives that tensor. NULL: runs make a tensor again. In place, but for
 * tensors of fettle_tensor_wrap and of other devices, which get a copy. Fails with FETTLE_NOT_FOUND
 * on other names than the model's outputs. */
FETTLE_API fettle_status fettle_session_set_output(fettle_session* session, const char* name,
                                                   fettle_tensor* tensor);
/* Plans, packs and allocates for the shapes of the inputs set so far, so that the first run need
 * not. Optional; new shapes are prepared when they come, and the last few are kept. */
FETTLE_API fettle_status fettle_session_prepare(fettle_session* session);
/* One inference. Fails with FETTLE_INVALID_ARGUMENT on missing inputs, wrong types or shapes,
 * FETTLE_BUSY where a tensor of its inputs or outputs is mapped or used by another session's run,
 * FETTLE_CANCELLED after fettle_session_cancel. */
FETTLE_API fettle_status fettle_session_run(fettle_session* session);
/* One inference in one call, for threads that share a session: sets `inputs` for this run alone,
 * beside those set before, and gives `outputs` (any of the model's and extra ones) as
 * fettle_session_output does, to be freed by the caller. Fails as the three do. */
FETTLE_API fettle_status fettle_session_infer(fettle_session* session,
                                              const char* const* input_names,
                                              const fettle_tensor* const* inputs,
                                              size_t input_count, const char* const* output_names,
                                              fettle_tensor** outputs, size_t output_count);

/* Says how an asynchronous run ended: called once for each, in the order in which they were given,
 * on a thread of the session's. `outputs`, as named there, are the caller's to free; there are none
 * where `status` is not FETTLE_OK, and fettle_last_error() says why. The next run works once it
 * returns. It may call anything, fettle_session_free of its session too; there
 * fettle_session_run_async never waits for room, and fettle_run_wait fails with FETTLE_BUSY for its
 * own run and later ones. */
typedef void (*fettle_run_callback)(void* user, fettle_status status, fettle_tensor** outputs,
                                    size_t output_count);
/* Begins an inference and returns: asynchronous runs of a session work one after another in the
 * order in which they were given, on a thread of the session's; calls of other threads come between
 * them. Reads `inputs`, and what was set until now, where that thread gets to it: memory of
 * fettle_tensor_wrap and the elements of all of them stay as they are until `callback` is called;
 * handles may be freed at once. The results are those of fettle_session_infer, bit for bit.
 * `callback` may be NULL: fettle_run_wait tells how the run ended. `run` may be NULL; else it gets
 * a handle for the two functions below, to be freed at any time, which ends nothing. Where
 * `max_runs` runs wait or work, it waits for room, or fails with FETTLE_BUSY where `when_busy` is
 * "fail". Fails with FETTLE_NOT_FOUND on names that are no model input's; what else
 * fettle_session_infer fails with comes with `callback`, and so does FETTLE_CANCELLED. */
FETTLE_API fettle_status fettle_session_run_async(
    fettle_session* session, const char* const* input_names, const fettle_tensor* const* inputs,
    size_t input_count, const char* const* output_names, size_t output_count,
    fettle_run_callback callback, void* user, fettle_run** run);
/* Until its callback is called, at its turn with FETTLE_CANCELLED: a run that waits never works,
 * one that works ends after the operator it is in, or its results are dropped. Tensors of
 * fettle_session_set_output may have been written. Later it does nothing. Never waits. */
FETTLE_API void fettle_run_cancel(fettle_run* run);
/* Waits until the run's callback has returned, and gives the status that it was called with. */
FETTLE_API fettle_status fettle_run_wait(fettle_run* run);
FETTLE_API void fettle_run_free(fettle_run* run);

typedef struct fettle_tune_progress {
  size_t struct_size;
  int64_t measured;    /* entries so far */
  int64_t open;        /* what would still be measured by what is known now: falls, not steadily */
  double seconds;      /* since the segment in hand was begun */
  double predicted_ms; /* of the best plan so far */
} fettle_tune_progress;
/* Called by the thread that tunes, between measurements; returning not 0 cancels. Must not call
 * functions of its session. The struct has the library's size. */
typedef int (*fettle_tune_progress_function)(const fettle_tune_progress* progress, void* user);

typedef struct fettle_tune_options {
  size_t struct_size;
  const char* level;     /* none|fast|work-size|normal|wide|full; NULL: normal */
  double budget_seconds; /* for all of it, the package included; 0: no limit */
  const char* database;  /* folder of the tuning database, "" for the user's; NULL: keep nothing */
  const char* package;   /* file to write the tuned model to; NULL: none */
  int packed_weights;    /* not 0: the package also holds packed weights; larger, starts sooner */
  int reserved;          /* 0 */
  fettle_tune_progress_function progress; /* NULL: none */
  void* user;                             /* of `progress` */
} fettle_tune_options;
#define FETTLE_TUNE_OPTIONS_INIT \
  { sizeof(fettle_tune_options), NULL, 0, NULL, NULL, 0, 0, NULL, NULL }
typedef struct fettle_tune_report {
  size_t struct_size;
  int accepted;        /* not 0: the tuned plan is faster and in use */
  double default_ms;   /* whole inferences, medians of interleaved runs */
  double tuned_ms;     /* that of the plan in use */
  double predicted_ms; /* what the tuned plan's parts add up to */
  int64_t measured;    /* entries measured by this call */
  int64_t reused;      /* entries that the database knew */
} fettle_tune_report;
#define FETTLE_TUNE_REPORT_INIT \
  { sizeof(fettle_tune_report), 0, 0, 0, 0, 0, 0 }
/* Measures for the shapes of the inputs set so far and goes on with the best plan, or with the
 * default one where nothing faster was found. `options` and `report` may be NULL. Needs the
 * machine's quiet for seconds to minutes. Fails as fettle_session_run does, with
 * FETTLE_INVALID_ARGUMENT on unknown levels, FETTLE_UNSUPPORTED on sessions with extra outputs or
 * references alone, FETTLE_IO where the package or the database cannot be written (the latter
 * before anything is measured). */
FETTLE_API fettle_status fettle_session_tune(fettle_session* session,
                                             const fettle_tune_options* options,
                                             fettle_tune_report* report);
/* Tuning while serving: measures beside runs and goes on with a better plan once there is one. */
typedef struct fettle_background_options {
  size_t struct_size;
  double budget_seconds; /* of work, without what it waits; 0: until the search is at its end */
  double share;          /* of one core, up to 1, whatever runs; 0: only while no session of this
                            process runs */
  const char* level;     /* none|fast|work-size|normal|wide|full; NULL: normal */
  const char* database;  /* folder of the tuning database, "" for the user's; NULL: keep nothing */
} fettle_background_options;
#define FETTLE_BACKGROUND_OPTIONS_INIT \
  { sizeof(fettle_background_options), 0, 0, NULL, NULL }
/* Begins and returns; a thread of the session's tunes for the inputs that are set, where all are,
 * else for those of the next run. The plan that is found has to be faster than that in use, and to
 * give what that gives on the inputs of a recent run, of which the thread has a copy, within the
 * tolerance of the arithmetic. The next run then begins on it, and none waits: it is prepared for
 * the shapes of the last runs. Shapes that it was not tuned for keep their plans. Where the
 * database cannot be written one line says so, and what is learned is kept in memory. Needs the
 * memory of two or three more sessions. `options` may be NULL. Freeing the session cancels it and
 * waits for that, up to a fifth of a second or until a kernel or plan in hand is done. Fails with
 * FETTLE_INVALID_ARGUMENT on unknown levels and numbers out of their range, FETTLE_UNSUPPORTED as
 * fettle_session_tune does, FETTLE_BUSY while one is at work (fettle_session_tune does, too). */
FETTLE_API fettle_status fettle_session_tune_in_background(
    fettle_session* session, const fettle_background_options* options);

typedef struct fettle_background_state {
  size_t struct_size;
  const char* stage;  /* none, waiting (for a run's inputs), measuring, verifying, handing-over (to
                         the next run); at the end: tuned, kept (the plan of before), refused (the
                         plan that was found gives something else), failed, cancelled */
  const char* reason; /* of the end, for people; lives until the next call of this function */
  int64_t is_over;    /* not 0 at the end, and where none was begun */
  int64_t measured;   /* measurements made */
  int64_t open;       /* what would still be measured: falls, not steadily */
  double worked_seconds;
  double waited_seconds;
  double before_ms; /* whole inferences, medians of interleaved runs; 0: not compared yet */
  double after_ms;
} fettle_background_state;
#define FETTLE_BACKGROUND_STATE_INIT \
  { sizeof(fettle_background_state), NULL, NULL, 0, 0, 0, 0, 0, 0, 0 }
/* How far the session's last tuning in the background is. Never waits for runs. */
FETTLE_API fettle_status fettle_session_background(const fettle_session* session,
                                                   fettle_background_state* state);
/* Ends it within a fifth of a second, or once a kernel or a plan in hand is done: the session stays
 * as it is, and what was measured stays in the database. Never waits. */
FETTLE_API void fettle_session_cancel_background(fettle_session* session);
/* Waits until it is over; FETTLE_BUSY where that takes longer than `seconds`. */
FETTLE_API fettle_status fettle_session_wait_background(fettle_session* session, double seconds);
/* A result of the last run as a tensor of its own, which the caller frees; later runs do not change
 * it. Fails with FETTLE_NOT_FOUND. */
FETTLE_API fettle_status fettle_session_output(const fettle_session* session, const char* name,
                                               fettle_tensor** tensor);
/* Makes a run in progress fail with FETTLE_CANCELLED after the operator it is in, and a tuning in
 * progress within a fifth of a second (a kernel that runs or is being built ends first): the
 * session stays as it was, and what was measured stays in the database. Runs that wait go on. Never
 * waits. */
FETTLE_API void fettle_session_cancel(fettle_session* session);

/* One step of the last run; a tuning ends with one. The texts live until the session's next run, by
 * whatever thread. */
typedef struct fettle_step {
  size_t struct_size;
  const char* node;
  const char* op;
  const char* kernel;
  double ms;
  int64_t macs;
  int64_t bytes;
} fettle_step;
#define FETTLE_STEP_INIT \
  { sizeof(fettle_step), NULL, NULL, NULL, 0, 0, 0 }
FETTLE_API size_t fettle_session_step_count(const fettle_session* session);
/* Fails with FETTLE_NOT_FOUND past the end. */
FETTLE_API fettle_status fettle_session_step(const fettle_session* session, size_t index,
                                             fettle_step* step);

/* In bytes. */
typedef struct fettle_memory {
  size_t struct_size;
  int64_t arena;   /* planned activations and workspace */
  int64_t weights; /* constants of the model */
  int64_t packed;  /* their packed forms, shared by all sessions of the model */
} fettle_memory;
#define FETTLE_MEMORY_INIT \
  { sizeof(fettle_memory), 0, 0, 0 }
FETTLE_API fettle_status fettle_session_memory(const fettle_session* session,
                                               fettle_memory* memory);

/* ---- Tensors in a device's memory ---- */

typedef struct fettle_tensor_options {
  size_t struct_size;
  const char* memory;   /* buffer|image; NULL: buffer */
  const char* layout;   /* as docs/architecture.md names them (row, NHWC, NCHW4c ...); NULL: row, of
                           images NC4HW4 */
  fettle_dtype storage; /* FETTLE_F16 for tensors of FETTLE_F32 that are stored so;
                           FETTLE_UNDEFINED: the tensor's type */
  int reserved;         /* 0 */
} fettle_tensor_options;
#define FETTLE_TENSOR_OPTIONS_INIT \
  { sizeof(fettle_tensor_options), NULL, NULL, FETTLE_UNDEFINED, 0 }
/* A tensor with undefined elements in the memory of the session's device, for inputs and outputs of
 * any session; of a session on the CPU alone, in host memory. Sessions on the same device use it in
 * place, and if it has the form that their plan gives the value no step converts it (what
 * fettle_session_step lists tells); others read and write it through maps. Outlives the session.
 * `options` may be NULL. Fails with FETTLE_INVALID_ARGUMENT on unknown layouts, FETTLE_UNSUPPORTED
 * on forms that the device does not have, FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_session_create_tensor(const fettle_session* session,
                                                      fettle_dtype dtype, int rank,
                                                      const int64_t* dims,
                                                      const fettle_tensor_options* options,
                                                      fettle_tensor** tensor);

typedef enum fettle_map_access {
  FETTLE_MAP_READ = 1,
  FETTLE_MAP_WRITE = 2, /* all of it: what was there is lost */
  FETTLE_MAP_READ_WRITE = 3
} fettle_map_access;
typedef struct fettle_map_options {
  size_t struct_size;
  const char* layout; /* to be seen in; NULL: row */
  fettle_dtype dtype; /* to be seen as; reals and integers of up to 32 bits become each other,
                         rounded to nearest and saturated; FETTLE_UNDEFINED: the tensor's type */
  int as_stored;      /* not 0: neither, but the device's own layout and type, in rows of images
                         with gaps between them. Lanes of padding must be written 0 */
} fettle_map_options;
#define FETTLE_MAP_OPTIONS_INIT \
  { sizeof(fettle_map_options), NULL, FETTLE_UNDEFINED, 0 }
typedef struct fettle_mapping {
  size_t struct_size;
  void* data;
  size_t row_pitch; /* bytes from one row to the next */
  size_t row_bytes; /* of elements in a row */
  size_t rows;      /* 1 but for images as they are stored */
  fettle_dtype dtype;
  int direct; /* not 0: these are the device's bytes; 0: a converted copy */
} fettle_mapping;
#define FETTLE_MAPPING_INIT \
  { sizeof(fettle_mapping), NULL, 0, 0, 0, FETTLE_UNDEFINED, 0 }
/* The tensor in the caller's hands until fettle_tensor_unmap, after all runs that use it. Any
 * number of tensors may be mapped at a time; host tensors may be, too. `options` may be NULL. Fails
 * with FETTLE_BUSY where it is mapped already or a run uses it, FETTLE_INVALID_ARGUMENT on unknown
 * layouts and types that do not convert, FETTLE_OUT_OF_MEMORY, FETTLE_DEVICE_ERROR. */
FETTLE_API fettle_status fettle_tensor_map(fettle_tensor* tensor, fettle_map_access access,
                                           const fettle_map_options* options,
                                           fettle_mapping* mapping);
/* Hands it back, what was written with it; the mapping's data is gone. Fails with
 * FETTLE_INVALID_ARGUMENT where it is not mapped through this handle. */
FETTLE_API fettle_status fettle_tensor_unmap(fettle_tensor* tensor);

/* What went between host and device. */
typedef struct fettle_transfers {
  size_t struct_size;
  int64_t copies; /* by the device, maps of memory that the host does not share among them */
  int64_t copied_bytes;
  int64_t maps;
  int64_t conversions; /* by the host, of what it mapped */
} fettle_transfers;
#define FETTLE_TRANSFERS_INIT \
  { sizeof(fettle_transfers), 0, 0, 0, 0 }
/* Of the tensor's own maps since it was made, of the session's runs since it was made or tuned. */
FETTLE_API fettle_status fettle_tensor_transfers(const fettle_tensor* tensor,
                                                 fettle_transfers* transfers);
FETTLE_API fettle_status fettle_session_transfers(const fettle_session* session,
                                                  fettle_transfers* transfers);

/* ---- The matrix product ---- */

/* C = alpha * op(A) * op(B) + beta * C on row-major fp32 matrices; op transposes where the flag is
 * not 0. op(A) is m x k, op(B) k x n, C m x n; leading dimensions count elements from one row to
 * the next as stored. With beta 0, C is not read. A and B must not overlap C. `threads`: the caller
 * included, 0 for all cores; the result does not depend on it. Subnormal numbers are taken as zero
 * (fettle_gemm_options::subnormals). Fails with FETTLE_INVALID_ARGUMENT on negative sizes, short
 * leading dimensions and more than 1024 threads, FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_sgemm(int transpose_a, int transpose_b, int64_t m, int64_t n,
                                      int64_t k, float alpha, const float* a, int64_t lda,
                                      const float* b, int64_t ldb, float beta, float* c,
                                      int64_t ldc, int threads);

/* The same product prepared once and called again and again, on any device, of more types, and many
 * at once. A handle belongs to one thread at a time. */
typedef struct fettle_gemm fettle_gemm;

/* Every member may stay 0, the default. Members are appended in later versions. */
typedef struct fettle_gemm_options {
  size_t struct_size;
  fettle_dtype dtype_a; /* FETTLE_F32 (default), FETTLE_F16, FETTLE_I8 or FETTLE_U8 */
  fettle_dtype dtype_b; /* default: that of A. With bytes, either of the two */
  fettle_dtype dtype_c; /* default: that of A; of bytes FETTLE_I32, and no other */
  int transpose_a;      /* not 0: A is stored as k x m */
  int transpose_b;      /* not 0: B is stored as n x k */
  int threads;          /* the caller included; 0: all cores */
  /* Elements from one row, as stored, to the next; 0: rows follow each other. */
  int64_t lda, ldb, ldc;
  int64_t batch; /* products at once; 0: 1 */
  /* With several products: elements from one matrix to the next. 0: all products read one A, one
   * B; matrices of C must not overlap. */
  int64_t stride_a, stride_b, stride_c;
  const void* b;          /* not NULL: B for all calls, copied here and packed once; of a batch,
                             stride_b apart like any other */
  const char* device;     /* auto|cpu|opencl[:PLATFORM[:DEVICE]]; NULL: auto. Matrices are in host
                             memory either way */
  const char* precision;  /* high|normal|low, of the device; NULL: high */
  const char* database;   /* folder of the tuning database, "" for the user's; NULL: none */
  const char* tune;       /* none|fast|work-size|normal|wide|full: measures here what the database
                             does not know; NULL: takes what it knows, else what is usually fast */
  double tune_seconds;    /* for measuring; 0: no limit */
  const char* subnormals; /* flush|keep, as of sessions; NULL: flush */
} fettle_gemm_options;
#define FETTLE_GEMM_OPTIONS_INIT                                                                   \
  {                                                                                                \
    sizeof(fettle_gemm_options), FETTLE_UNDEFINED, FETTLE_UNDEFINED, FETTLE_UNDEFINED, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL                                    \
  }

/* C = alpha * op(A) * op(B) + beta * C: op(A) is m x k, op(B) k x n, C m x n, all row-major. Sums
 * of FETTLE_F16 are in fp32; products of bytes have alpha 1 and beta 0 or 1. `options` may be NULL.
 * Plans, packs and allocates for all later calls. Fails with FETTLE_INVALID_ARGUMENT on negative
 * sizes, leading dimensions shorter than a row, overlapping matrices of C and unknown levels,
 * FETTLE_UNSUPPORTED on other types and factors, FETTLE_DEVICE_UNAVAILABLE, FETTLE_OUT_OF_MEMORY.
 */
FETTLE_API fettle_status fettle_gemm_create(int64_t m, int64_t n, int64_t k, double alpha,
                                            double beta, const fettle_gemm_options* options,
                                            fettle_gemm** gemm);
/* One call. `b` is not read where the options have it. As in BLAS: with beta 0 C is not read, with
 * alpha 0 or k 0 neither is A nor B, and where m, n or batch is 0 nothing happens. What is not read
 * may be NULL. A and B must not overlap C. Fails with FETTLE_INVALID_ARGUMENT where an operand that
 * is read or written is NULL. */
FETTLE_API fettle_status fettle_gemm_run(fettle_gemm* gemm, const void* a, const void* b, void* c);
/* The kernels of the last call, joined by " + ", for people; "" where nothing had to be computed.
 * Good until the next call. */
FETTLE_API const char* fettle_gemm_kernels(const fettle_gemm* gemm);
FETTLE_API void fettle_gemm_free(fettle_gemm* gemm);

/* ---- Language models ---- */

/* A sequence of tokens of a language model in a GGUF file: it reads tokens, gives the logits of the
 * next one, and keeps what it read in a cache of its own, which is written in place. Calls of one
 * handle come one after another, those of forks too; fettle_generate_cancel never waits. Results
 * that are written to arrays of the caller's take a capacity: as many are written as fit, and the
 * count is that of all of them, so that a call with a capacity of 0 asks for it. */
typedef struct fettle_generate fettle_generate;

typedef struct fettle_generate_options {
  size_t struct_size;
  int64_t context; /* most tokens of a sequence; 0: what the model was trained for, at most 4,096 */
  int64_t threads; /* of the CPU, the caller included; 0: all cores */
  int64_t sequences;  /* forks of one another whose caches lie together, for fettle_generate_step;
                         memory is taken for so many at once; 0: 1 */
  const char* device; /* as of sessions: where weights and caches lie; NULL: auto */
} fettle_generate_options;
#define FETTLE_GENERATE_OPTIONS_INIT \
  { sizeof(fettle_generate_options), 0, 0, 0, NULL }

/* Opens a .gguf file, which stays mapped, and plans for all lengths; `options` may be NULL. Fails
 * with FETTLE_NOT_FOUND, FETTLE_IO, FETTLE_INVALID_MODEL, FETTLE_UNSUPPORTED for what Fettle does
 * not know, naming what it does, and FETTLE_OUT_OF_MEMORY where the cache does not fit. */
FETTLE_API fettle_status fettle_generate_create(const char* path,
                                                const fettle_generate_options* options,
                                                fettle_generate** generate);
/* Another sequence, of the same tokens so far, with the same sampling: it shares the weights and
 * has a cache of its own. Fails with FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_generate_fork(const fettle_generate* generate,
                                              fettle_generate** fork);
FETTLE_API void fettle_generate_free(fettle_generate* generate);

typedef struct fettle_generate_facts {
  size_t struct_size;
  int64_t vocabulary;      /* tokens are 0 to this less 1 */
  int64_t context;         /* most tokens of the sequence */
  int64_t trained_context; /* tokens that the model was trained for */
  int64_t position;        /* tokens read so far */
  int64_t begin_token;     /* the token that begins a text; -1: none */
  int64_t adds_begin;      /* not 0: texts want it in front, where encode puts it */
  int64_t cache_bytes;     /* what the cache takes */
  int64_t threads;         /* of the CPU */
} fettle_generate_facts;
#define FETTLE_GENERATE_FACTS_INIT \
  { sizeof(fettle_generate_facts), 0, 0, 0, 0, 0, 0, 0, 0 }
FETTLE_API fettle_status fettle_generate_get_facts(const fettle_generate* generate,
                                                   fettle_generate_facts* facts);

/* The tokens of `size` bytes of text, any bytes. `special` not 0: names of control tokens in the
 * text are those tokens. The token that begins a text is not put in front. */
FETTLE_API fettle_status fettle_generate_encode(const fettle_generate* generate, const char* text,
                                                size_t size, int special, int32_t* tokens,
                                                size_t capacity, size_t* count);
/* The bytes of one token, which may be part of a code point; none of control tokens. Fails with
 * FETTLE_INVALID_ARGUMENT outside the vocabulary. */
FETTLE_API fettle_status fettle_generate_decode(const fettle_generate* generate, int32_t token,
                                                char* bytes, size_t capacity, size_t* size);
/* 1 where an answer ends with the token, otherwise 0. */
FETTLE_API int fettle_generate_is_end(const fettle_generate* generate, int32_t token);
/* The text of a question, in the form that the model was trained on for conversations, to be
 * encoded with `special`. `system`, what the model is told first, may be NULL: as the file says.
 * Fails with FETTLE_UNSUPPORTED where the file has no form that Fettle knows. */
FETTLE_API fettle_status fettle_generate_chat(const fettle_generate* generate, const char* system,
                                              const char* question, char* text, size_t capacity,
                                              size_t* size);

/* Reads tokens behind those read so far. Fails with FETTLE_INVALID_ARGUMENT where there are none,
 * one lies outside the vocabulary, or they pass the context, FETTLE_CANCELLED; nothing is read
 * then. */
FETTLE_API fettle_status fettle_generate_read(fettle_generate* generate, const int32_t* tokens,
                                              size_t count);
/* Reads one token behind each of `count` sequences, forks of one another, as fettle_generate_read
 * does: those whose caches lie together (fettle_generate_options.sequences) in one pass over the
 * weights. What a sequence gets does not depend on the others. Each number of sequences is planned
 * when it first comes. Fails as fettle_generate_read does, and with FETTLE_INVALID_ARGUMENT where a
 * sequence comes twice or is no fork of the first; nothing is read then. */
FETTLE_API fettle_status fettle_generate_step(fettle_generate* const* sequences,
                                              const int32_t* tokens, size_t count);
/* The logits that the last token read gives the next one: one for each token of the vocabulary,
 * good until the next call that reads. Fails with FETTLE_NOT_FOUND where the last call that changed
 * the sequence read nothing. */
FETTLE_API fettle_status fettle_generate_logits(const fettle_generate* generate,
                                                const float** logits, size_t* count);

typedef struct fettle_generate_sampling {
  size_t struct_size;
  double temperature; /* 0: the largest logit; 1: the model's probabilities */
  double top_p;       /* of the fewest tokens that have this probability together; 0: all */
  int64_t top_k;      /* of so many of the likeliest tokens; 0: all */
  uint64_t seed;      /* equal ones choose equal tokens */
} fettle_generate_sampling;
#define FETTLE_GENERATE_SAMPLING_INIT \
  { sizeof(fettle_generate_sampling), 0, 0, 0, 0 }
/* How fettle_generate_next chooses from now on; the largest logit where it was never called. Fails
 * with FETTLE_INVALID_ARGUMENT on numbers below 0, and a top_p above 1. */
FETTLE_API fettle_status fettle_generate_set_sampling(fettle_generate* generate,
                                                      const fettle_generate_sampling* sampling);
/* Chooses a token from the logits, and does not read it. Fails as fettle_generate_logits does. */
FETTLE_API fettle_status fettle_generate_next(fettle_generate* generate, int32_t* token);

/* Forgets all but the first `count` tokens. Fails with FETTLE_INVALID_ARGUMENT where fewer were
 * read. */
FETTLE_API fettle_status fettle_generate_rewind(fettle_generate* generate, int64_t count);
/* What was read so far as bytes, which fettle_generate_restore of the same model takes, whatever
 * its context is, as long as it holds them. Nothing is written where `capacity` is too small. */
FETTLE_API fettle_status fettle_generate_save(const fettle_generate* generate, void* bytes,
                                              size_t capacity, size_t* size);
/* Goes on behind the tokens of a save, instead of those read so far. Fails with FETTLE_CORRUPT on
 * other bytes, FETTLE_INVALID_ARGUMENT on those of another model and those that pass the context;
 * the sequence is as before then. */
FETTLE_API fettle_status fettle_generate_restore(fettle_generate* generate, const void* bytes,
                                                 size_t size);
/* From any thread, never waits: a fettle_generate_read or fettle_generate_step in progress fails
 * with FETTLE_CANCELLED. */
FETTLE_API void fettle_generate_cancel(fettle_generate* generate);

/* ---- A tuner for code of the caller's own ---- */

/* Searches the configurations of anything that the caller can run and time. Say what there is to
 * choose (parameters, constraints), then either hand over a function that runs one configuration
 * (fettle_tuner_run), or ask for configurations one at a time and tell what came of them
 * (fettle_tuner_ask, fettle_tuner_tell), in a program that is running anyway. A configuration is an
 * array of values in the order in which the parameters were added. While fettle_tuner_run is at
 * work, calls that change the search fail with FETTLE_BUSY, also from its callbacks; what it has
 * found so far can be asked for at any time. */
typedef struct fettle_tuner fettle_tuner;

/* `name` says what is tuned, in messages and in the database. */
FETTLE_API fettle_status fettle_tuner_create(const char* name, fettle_tuner** tuner);
FETTLE_API void fettle_tuner_free(fettle_tuner* tuner);

/* The next five functions fail with FETTLE_INVALID_ARGUMENT once the search has begun. */

/* Different values in an order in which neighbours are expected to act alike. They are copied. */
FETTLE_API fettle_status fettle_tuner_add_parameter(fettle_tuner* tuner, const char* name,
                                                    const int64_t* values, size_t count);
/* A condition that valid configurations meet, such as "MWG % (MDIMC * VWM) == 0 and SA + SB < 2":
 * or and not · comparisons, `in [1, 2]` · + - * / // % ** · min max abs · names and numbers. Fails
 * with FETTLE_INVALID_ARGUMENT naming the column. Parameters come first. */
FETTLE_API fettle_status fettle_tuner_add_constraint(fettle_tuner* tuner, const char* expression);
/* Returns not 0 for valid configurations. Called often, so it must be cheap, and not only for what
 * is measured; it must not call functions of its tuner. NULL: none. */
typedef int (*fettle_tuner_constraint)(const int64_t* values, size_t count, void* user);
FETTLE_API fettle_status fettle_tuner_set_constraint(fettle_tuner* tuner,
                                                     fettle_tuner_constraint function, void* user);
/* A configuration that is known to be good (a default, another machine's best): measured first, in
 * the order of these calls. Fails with FETTLE_NOT_FOUND where a parameter has no such value. */
FETTLE_API fettle_status fettle_tuner_add_known(fettle_tuner* tuner, const int64_t* values,
                                                size_t count);

typedef struct fettle_tuner_options {
  size_t struct_size;
  const char* strategy;    /* a name of docs/tuning.md; NULL: "local" */
  uint64_t seed;           /* equal seeds and times give equal searches */
  int64_t max_evaluations; /* 0: no limit */
  double max_seconds;      /* 0: no limit; kept if runs take about as long as the ones before */
  const char* database;    /* a file that keeps what was measured; NULL: none */
  const char* version;     /* of the code and its input: times of other versions are not reused */
} fettle_tuner_options;
#define FETTLE_TUNER_OPTIONS_INIT \
  { sizeof(fettle_tuner_options), NULL, 0, 0, 0, NULL, NULL }
FETTLE_API fettle_status fettle_tuner_set_options(fettle_tuner* tuner,
                                                  const fettle_tuner_options* options);

/* Runs one configuration and writes its time. Returns 0, or anything else where it failed. What it
 * writes should be a median of several runs: the search believes it. */
typedef int (*fettle_tuner_run_function)(const int64_t* values, size_t count, double* ms,
                                         void* user);
/* Called after each successful run. Returns 0 where its results are right; others never win. */
typedef int (*fettle_tuner_check_function)(const int64_t* values, size_t count, void* user);

typedef struct fettle_tuner_state {
  size_t struct_size;
  int64_t evaluations; /* so far, known and failed ones included */
  int64_t failed;      /* failed or wrong */
  int64_t reused;      /* answered by the database */
  double seconds;      /* since the search began */
  double best_ms;      /* 0 while there is none */
} fettle_tuner_state;
#define FETTLE_TUNER_STATE_INIT \
  { sizeof(fettle_tuner_state), 0, 0, 0, 0, 0 }
/* Called after each evaluation; returning not 0 cancels. The struct has the library's size. */
typedef int (*fettle_tuner_progress_function)(const fettle_tuner_state* state, void* user);

/* `check` and `progress` may be NULL. */
typedef struct fettle_tuner_callbacks {
  size_t struct_size;
  fettle_tuner_run_function run;
  fettle_tuner_check_function check;
  fettle_tuner_progress_function progress;
  void* user;
} fettle_tuner_callbacks;
#define FETTLE_TUNER_CALLBACKS_INIT \
  { sizeof(fettle_tuner_callbacks), NULL, NULL, NULL, NULL }
/* Searches until a budget is spent or every valid configuration was run. Fails with
 * FETTLE_CANCELLED (what was learned stays; a further call goes on), with FETTLE_INVALID_ARGUMENT
 * on callbacks without `run` and where neither a budget nor the strategy `full` ends the search,
 * with FETTLE_IO where the database cannot be written. */
FETTLE_API fettle_status fettle_tuner_run(fettle_tuner* tuner,
                                          const fettle_tuner_callbacks* callbacks);
/* Makes fettle_tuner_run return after the configuration in hand. From any thread. */
FETTLE_API void fettle_tuner_cancel(fettle_tuner* tuner);

/* Writes the next configuration to measure, the same until fettle_tuner_tell. Fails with
 * FETTLE_NOT_FOUND when the search is over. */
FETTLE_API fettle_status fettle_tuner_ask(fettle_tuner* tuner, int64_t* values, size_t count);
/* The time of the configuration asked for; 0 or less: it failed or was wrong. */
FETTLE_API fettle_status fettle_tuner_tell(fettle_tuner* tuner, double ms);

/* The fastest configuration so far. Fails with FETTLE_NOT_FOUND while there is none. `ms` may be
 * NULL. */
FETTLE_API fettle_status fettle_tuner_best(const fettle_tuner* tuner, int64_t* values, size_t count,
                                           double* ms);
/* One evaluation by its number, from 0; `ms` is 0 where it failed. Fails with FETTLE_NOT_FOUND past
 * the end. */
FETTLE_API fettle_status fettle_tuner_evaluation(const fettle_tuner* tuner, int64_t index,
                                                 int64_t* values, size_t count, double* ms);
FETTLE_API fettle_status fettle_tuner_get_state(const fettle_tuner* tuner,
                                                fettle_tuner_state* state);

#ifdef __cplusplus
}
#endif

#endif /* FETTLE_FETTLE_H_ */
