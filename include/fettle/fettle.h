/* Fettle's C interface: load an ONNX model, run it and read the results; the matrix product alone;
 * language models; and a tuner for your own code.
 *
 * * Handles are opaque. The function named after a handle frees it; freeing NULL does nothing.
 * Every function that can fail returns a status and leaves a message for fettle_last_error() of the
 * same thread. Pointers to results are untouched after a failure. No function throws or prints. Any
 * thread may call any function at any time, with two limits: one thread frees a handle, after the
 * last call that uses it; and the caller orders reads and writes of a tensor's elements. Models are
 * immutable. Calls of one session run one after another, those of several sessions in parallel.
 * fettle_session_cancel never waits. docs/api-c.md has a table. Texts are UTF-8. Returned texts
 * belong to the library.
 *
 * * Structs start with their size, which FETTLE_..._INIT fills in (as does {.struct_size =
 * sizeof(options), ...}). All other members may stay zero, which is the default. Later versions of
 * the library append members and never move one. The library reads and writes at most struct_size
 * bytes. It uses defaults for members that an older program's struct lacks. Of a newer program's
 * struct, options that the library does not know fail with FETTLE_UNSUPPORTED if they are set, and
 * results that it does not know become zero. Any other struct_size fails with
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
/* The message of this thread's last failing call; "" if none failed. Valid until its next failing
 * call. */
FETTLE_API const char* fettle_last_error(void);
/* "invalid argument" and so on; "unknown" for other numbers. */
FETTLE_API const char* fettle_status_name(fettle_status status);
/* "f32" and so on; "undefined" for other numbers. */
FETTLE_API const char* fettle_dtype_name(fettle_dtype dtype);
/* Bytes of one element; 0 for FETTLE_UNDEFINED and other numbers. */
FETTLE_API size_t fettle_dtype_size(fettle_dtype dtype);

/* Receives one line (without a newline) from any thread, one line at a time. `line` is valid during
 * the call. The function must not call this library. */
typedef void (*fettle_log_function)(fettle_log_level level, const char* line, void* user);
/* Sends lines of `level` and above to `function`, for the whole process. NULL, the default:
 * nowhere. `user` must stay valid until another function is set. */
FETTLE_API void fettle_set_log(fettle_log_function function, void* user, fettle_log_level level);

/* ---- Models ---- */

/* Loads an .onnx file or a .fettle package, whatever its name. The file stays mapped while the
 * model lives. Fails with FETTLE_NOT_FOUND, FETTLE_IO, FETTLE_INVALID_MODEL, FETTLE_UNSUPPORTED
 * (the message names all unsupported operators), or for packages FETTLE_CORRUPT and
 * FETTLE_VERSION_MISMATCH. A package for another device or version is planned again, and the log
 * says so. */
FETTLE_API fettle_status fettle_model_load(const char* path, fettle_model** model);
/* The same from memory, which is copied. Error messages start with `name`; NULL means "model". */
FETTLE_API fettle_status fettle_model_load_bytes(const void* bytes, size_t size, const char* name,
                                                 fettle_model** model);
/* Sessions keep what they need, so a model may be freed before them. */
FETTLE_API void fettle_model_free(fettle_model* model);

FETTLE_API size_t fettle_model_input_count(const fettle_model* model);
FETTLE_API size_t fettle_model_output_count(const fettle_model* model);

typedef struct fettle_value_info {
  size_t struct_size;
  const char* name;
  fettle_dtype dtype;                   /* FETTLE_UNDEFINED: not declared */
  int rank;                             /* -1: not declared */
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
/* A tensor over the caller's memory. It must be aligned to the element and outlive the tensor and
 * every session with it as an input. `size` must be the tensor's size in bytes. Inputs are only
 * read. */
FETTLE_API fettle_status fettle_tensor_wrap(fettle_dtype dtype, int rank, const int64_t* dims,
                                            void* data, size_t size, fettle_tensor** tensor);
/* Fails with FETTLE_BUSY, and frees nothing, while the tensor is mapped through this handle. */
FETTLE_API fettle_status fettle_tensor_free(fettle_tensor* tensor);
FETTLE_API fettle_dtype fettle_tensor_dtype(const fettle_tensor* tensor);
FETTLE_API int fettle_tensor_rank(const fettle_tensor* tensor);
/* `rank` extents, valid as long as the tensor. */
FETTLE_API const int64_t* fettle_tensor_dims(const fettle_tensor* tensor);
/* Row-major elements. NULL if the tensor has to be mapped: tensors in a device's memory, unless it
 * is row-major and shared with the host at any time (svm "fine"). */
FETTLE_API void* fettle_tensor_data(const fettle_tensor* tensor);
/* The size of its row-major elements in bytes. */
FETTLE_API size_t fettle_tensor_size(const fettle_tensor* tensor);

/* ---- Sessions ---- */

typedef struct fettle_session_options {
  size_t struct_size;
  int threads;                      /* the caller included; 0: all cores */
  int reference_only;               /* not 0: run every operator by its scalar reference */
  const char* const* extra_outputs; /* values of the model to return beside its outputs */
  size_t extra_output_count;
  const char* device;    /* auto|cpu|opencl[:PLATFORM[:DEVICE]]; NULL: auto */
  int strict_device;     /* not 0: fail, instead of using the CPU for what the device cannot do */
  const char* precision; /* high|normal|low: whether half precision may replace f32; NULL: high */
  const char* memory;    /* auto|buffer|image, of the device; NULL: auto */
  int queue_window; /* the most commands in the queue, so that others get the device; 0: no limit */
  double kernel_ms; /* split launches that take longer; 0: never */
  const char* programs; /* folder for the device's compiled programs, "" for the user's cache;
                           NULL: keep nothing */
  const char* svm; /* auto|off|coarse|fine: buffers in memory that host and device share; off, with
                      a line in the log, if the device has none; NULL: off */
  const char* when_busy;  /* wait|fail: what a call does while another thread's call uses the
                             session; fail returns FETTLE_BUSY; NULL: wait */
  const char* subnormals; /* flush: CPU kernels take numbers below 1.2e-38 as zero; keep: they
                             follow IEEE 754, up to 100 times slower. NULL: flush */
  int64_t max_memory;     /* the most bytes of host memory for weights, work and results; 0: four
                               fifths of the machine's, for the process. Above: OUT_OF_MEMORY */
  int64_t max_runs;       /* the most asynchronous runs that wait or work; 0: 16 */
  const char* start;      /* ready|fast: the CPU answers until the device is ready; NULL: ready */
} fettle_session_options;
#define FETTLE_SESSION_OPTIONS_INIT                                                             \
  {                                                                                             \
    sizeof(fettle_session_options), 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, NULL, NULL, NULL, \
        NULL, 0, 0, NULL                                                                        \
  }

/* `options` may be NULL. Zero members are defaults: all cores, the CPU alone. Fails with
 * FETTLE_INVALID_ARGUMENT for more than 1024 threads, FETTLE_NOT_FOUND if an extra output is not a
 * value of the model, FETTLE_DEVICE_UNAVAILABLE if the device is absent. */
FETTLE_API fettle_status fettle_session_create(const fettle_model* model,
                                               const fettle_session_options* options,
                                               fettle_session** session);
/* Cancels the asynchronous runs that wait, waits for the one that works, and makes all callbacks.
 * In a callback of the session itself, it frees the session and returns to the callback. */
FETTLE_API void fettle_session_free(fettle_session* session);
/* Takes a reference to the tensor's memory for this and later runs; `tensor` may be freed. Setting
 * an input again replaces it. Fails with FETTLE_NOT_FOUND if the model has no such input. */
FETTLE_API fettle_status fettle_session_set_input(fettle_session* session, const char* name,
                                                  const fettle_tensor* tensor);
/* The same for a tensor that runs write this output into. It must have the output's type and shape
 * at each run. fettle_session_output returns that tensor. NULL: runs allocate a tensor again. Runs
 * write it in place, except tensors of fettle_tensor_wrap and of other devices, which get a copy.
 * Fails with FETTLE_NOT_FOUND if the model has no such output. */
FETTLE_API fettle_status fettle_session_set_output(fettle_session* session, const char* name,
                                                   fettle_tensor* tensor);
/* Plans, packs and allocates for the shapes of the inputs that are set, so that the first run is as
 * fast as later ones. Optional: new shapes are prepared when they come. The last few are kept. */
FETTLE_API fettle_status fettle_session_prepare(fettle_session* session);
/* One inference. Fails with FETTLE_INVALID_ARGUMENT for missing inputs, wrong types or wrong
 * shapes, FETTLE_BUSY if an input or output tensor is mapped or used by a run of another session,
 * FETTLE_CANCELLED after fettle_session_cancel. */
FETTLE_API fettle_status fettle_session_run(fettle_session* session);
/* One inference in one call, for threads that share a session. `inputs` are set for this run only,
 * beside those set before. `outputs` (any of the model's and extra ones) are returned as by
 * fettle_session_output; the caller frees them. Fails as these three functions do. */
FETTLE_API fettle_status fettle_session_infer(fettle_session* session,
                                              const char* const* input_names,
                                              const fettle_tensor* const* inputs,
                                              size_t input_count, const char* const* output_names,
                                              fettle_tensor** outputs, size_t output_count);

/* Tells how an asynchronous run ended. Called once for each run, in the order of the runs, on a
 * thread of the session. The caller frees `outputs`, which are in the order of their names. There
 * are none if `status` is not FETTLE_OK; fettle_last_error() then says why. The next run begins
 * when the callback returns. It may call any function, also fettle_session_free of its session. In
 * it, fettle_session_run_async never waits for room; fettle_run_wait of its run and later ones is
 * FETTLE_BUSY. */
typedef void (*fettle_run_callback)(void* user, fettle_status status, fettle_tensor** outputs,
                                    size_t output_count);
/* Begins an inference and returns. The asynchronous runs of a session are executed one after
 * another, in the order of the calls, on a thread of the session. Calls of other threads are
 * executed between them. `inputs`, and what was set before, are read when the run works. So memory
 * of fettle_tensor_wrap, and the elements of all inputs, must not change before `callback` is
 * called; handles may be freed at once. The results are those of fettle_session_infer, bit for bit.
 * `callback` may be NULL: fettle_run_wait returns the status. `run` may be NULL; otherwise it gets
 * a handle for the two functions below. It may be freed at any time, which does not end the run. If
 * `max_runs` runs wait or work, the call waits for room, or fails with FETTLE_BUSY if `when_busy`
 * is "fail". Fails with FETTLE_NOT_FOUND if the model has no such input. All other failures of
 * fettle_session_infer, and FETTLE_CANCELLED, are passed to `callback`. */
FETTLE_API fettle_status fettle_session_run_async(
    fettle_session* session, const char* const* input_names, const fettle_tensor* const* inputs,
    size_t input_count, const char* const* output_names, size_t output_count,
    fettle_run_callback callback, void* user, fettle_run** run);
/* Cancels a run whose callback has not been called. The callback then comes in its turn, with
 * FETTLE_CANCELLED. A run that waits is never executed. One that works ends after its current
 * operator, or its results are dropped. Tensors of fettle_session_set_output may have been written.
 * After the callback it does nothing. Never waits. */
FETTLE_API void fettle_run_cancel(fettle_run* run);
/* Waits until the run's callback has returned, and returns the status that the callback got. */
FETTLE_API fettle_status fettle_run_wait(fettle_run* run);
FETTLE_API void fettle_run_free(fettle_run* run);

typedef struct fettle_tune_progress {
  size_t struct_size;
  int64_t measured;    /* entries so far */
  int64_t open;        /* entries that would still be measured; may rise, too */
  double seconds;      /* since the current segment began */
  double predicted_ms; /* of the best plan so far */
} fettle_tune_progress;
/* Called by the thread that tunes, between measurements. Returns not 0 to cancel. Must not call
 * functions of its session. The struct has the library's size. */
typedef int (*fettle_tune_progress_function)(const fettle_tune_progress* progress, void* user);

typedef struct fettle_tune_options {
  size_t struct_size;
  const char* level;     /* none|fast|work-size|normal|wide|full; NULL: normal */
  double budget_seconds; /* for everything, the package included; 0: no limit */
  const char* database;  /* folder of the tuning database, "" for the user's; NULL: keep nothing */
  const char* package;   /* file to write the tuned model to; NULL: none */
  int packed_weights;    /* not 0: store packed weights too: a larger package that starts sooner */
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
/* Measures for the shapes of the inputs that are set and continues with the best plan, or with the
 * default plan if nothing faster was found. `options` and `report` may be NULL. It takes seconds to
 * minutes, and the machine should be quiet. Fails as fettle_session_run does, and with
 * FETTLE_INVALID_ARGUMENT for unknown levels, FETTLE_UNSUPPORTED for sessions with extra outputs or
 * with references only, FETTLE_IO if the package or the database cannot be written (for the
 * database, before anything is measured). */
FETTLE_API fettle_status fettle_session_tune(fettle_session* session,
                                             const fettle_tune_options* options,
                                             fettle_tune_report* report);
/* Tuning while serving: measures beside runs, and uses a better plan as soon as there is one. */
typedef struct fettle_background_options {
  size_t struct_size;
  double budget_seconds; /* of work, without waiting; 0: until the search ends */
  double share;          /* of one core, up to 1, at any time; 0: only while no session of this
                            process runs */
  const char* level;     /* none|fast|work-size|normal|wide|full; NULL: normal */
  const char* database;  /* folder of the tuning database, "" for the user's; NULL: keep nothing */
} fettle_background_options;
#define FETTLE_BACKGROUND_OPTIONS_INIT \
  { sizeof(fettle_background_options), 0, 0, NULL, NULL }
/* Begins and returns. A thread of the session tunes for the inputs that are set, if all are set, or
 * for those of the next run. The new plan must be faster than the present one. On a copy of a
 * recent run's inputs it must give the same results within the tolerance of the arithmetic. The
 * next run then uses it, and no run waits, as it is prepared for the shapes of the last runs.
 * Shapes that it was not tuned for keep their plans. If the database cannot be written, one line in
 * the log says so, and what is learned stays in memory. Needs the memory of two or three more
 * sessions. `options` may be NULL. Freeing the session cancels the tuning and waits up to a fifth
 * of a second, or until the current kernel or plan is done. Fails with FETTLE_INVALID_ARGUMENT for
 * unknown levels and numbers out of range, FETTLE_UNSUPPORTED as fettle_session_tune does,
 * FETTLE_BUSY while another tuning works (so does fettle_session_tune). */
FETTLE_API fettle_status fettle_session_tune_in_background(
    fettle_session* session, const fettle_background_options* options);

typedef struct fettle_background_state {
  size_t struct_size;
  const char* stage; /* none, waiting (for a run's inputs), measuring, verifying, handing-over (to
                        the next run); at the end: tuned, kept (the previous plan), refused (the
                        new plan gives other results), failed, cancelled */
  const char*
      reason; /* why it ended, for people to read; valid until the next call of this function */
  int64_t is_over;  /* not 0 at the end, and if none was begun */
  int64_t measured; /* measurements made */
  int64_t open;     /* measurements that would still be made; may rise, too */
  double worked_seconds;
  double waited_seconds;
  double before_ms; /* whole inferences, medians of interleaved runs; 0: not compared yet */
  double after_ms;
} fettle_background_state;
#define FETTLE_BACKGROUND_STATE_INIT \
  { sizeof(fettle_background_state), NULL, NULL, 0, 0, 0, 0, 0, 0, 0 }
/* The progress of the session's last background tuning. Never waits for runs. */
FETTLE_API fettle_status fettle_session_background(const fettle_session* session,
                                                   fettle_background_state* state);
/* Ends it within a fifth of a second, or when the current kernel or plan is done. The session stays
 * as it is, and the database keeps what was measured. Never waits. */
FETTLE_API void fettle_session_cancel_background(fettle_session* session);
/* Waits until it is over. FETTLE_BUSY if that takes longer than `seconds`. */
FETTLE_API fettle_status fettle_session_wait_background(fettle_session* session, double seconds);
/* A result of the last run as a separate tensor, which the caller frees. Later runs do not change
 * it. Fails with FETTLE_NOT_FOUND. */
FETTLE_API fettle_status fettle_session_output(const fettle_session* session, const char* name,
                                               fettle_tensor** tensor);
/* Makes a run in progress fail with FETTLE_CANCELLED after its current operator, and a tuning in
 * progress within a fifth of a second (after the kernel that runs or is being built). The session
 * stays as it was; the database keeps what was measured. Runs that wait continue. Never waits. */
FETTLE_API void fettle_session_cancel(fettle_session* session);

/* One step of the last run; a tuning ends with a run. The texts are valid until the session's next
 * run. */
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
  fettle_dtype storage; /* FETTLE_F16: store a tensor of FETTLE_F32 as f16; FETTLE_UNDEFINED: the
                           tensor's type */
  int reserved;         /* 0 */
} fettle_tensor_options;
#define FETTLE_TENSOR_OPTIONS_INIT \
  { sizeof(fettle_tensor_options), NULL, NULL, FETTLE_UNDEFINED, 0 }
/* A tensor with undefined elements in the memory of the session's device (in host memory if the
 * session runs on the CPU alone), for inputs and outputs of any session. Sessions on the same
 * device use it in place. If it has the state that their plan gives the value, no step converts it
 * (see fettle_session_step). Other sessions read and write it by maps. It outlives the session.
 * `options` may be NULL. Fails with FETTLE_INVALID_ARGUMENT for unknown layouts, FETTLE_UNSUPPORTED
 * for states that the device does not have, FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_session_create_tensor(const fettle_session* session,
                                                      fettle_dtype dtype, int rank,
                                                      const int64_t* dims,
                                                      const fettle_tensor_options* options,
                                                      fettle_tensor** tensor);

typedef enum fettle_map_access {
  FETTLE_MAP_READ = 1,
  FETTLE_MAP_WRITE = 2, /* the whole tensor: its old elements are lost */
  FETTLE_MAP_READ_WRITE = 3
} fettle_map_access;
typedef struct fettle_map_options {
  size_t struct_size;
  const char* layout; /* of the mapping; NULL: row */
  fettle_dtype dtype; /* of the mapping; reals and integers of up to 32 bits are converted, rounded
                         to nearest and saturated; FETTLE_UNDEFINED: the tensor's type */
  int as_stored;      /* not 0: the device's own layout and type instead; rows of images have gaps.
                         Padding must be written as 0 */
} fettle_map_options;
#define FETTLE_MAP_OPTIONS_INIT \
  { sizeof(fettle_map_options), NULL, FETTLE_UNDEFINED, 0 }
typedef struct fettle_mapping {
  size_t struct_size;
  void* data;
  size_t row_pitch; /* bytes from one row to the next */
  size_t row_bytes; /* of elements in a row */
  size_t rows;      /* 1, except for images as stored */
  fettle_dtype dtype;
  int direct; /* not 0: these are the device's bytes; 0: a converted copy */
} fettle_mapping;
#define FETTLE_MAPPING_INIT \
  { sizeof(fettle_mapping), NULL, 0, 0, 0, FETTLE_UNDEFINED, 0 }
/* Gives the caller the tensor until fettle_tensor_unmap, after all runs that use it. Any number of
 * tensors, also host tensors, may be mapped at a time. `options` may be NULL. Fails with
 * FETTLE_BUSY if the tensor is already mapped or a run uses it, FETTLE_INVALID_ARGUMENT for unknown
 * layouts and types that cannot be converted, FETTLE_OUT_OF_MEMORY, FETTLE_DEVICE_ERROR. */
FETTLE_API fettle_status fettle_tensor_map(fettle_tensor* tensor, fettle_map_access access,
                                           const fettle_map_options* options,
                                           fettle_mapping* mapping);
/* Returns the tensor with what was written; the mapping's data becomes invalid. Fails with
 * FETTLE_INVALID_ARGUMENT if it is not mapped through this handle. */
FETTLE_API fettle_status fettle_tensor_unmap(fettle_tensor* tensor);

/* Transfers between host and device. */
typedef struct fettle_transfers {
  size_t struct_size;
  int64_t copies; /* by the device; includes maps of memory that the host does not share */
  int64_t copied_bytes;
  int64_t maps;
  int64_t conversions; /* of mapped data, by the host */
} fettle_transfers;
#define FETTLE_TRANSFERS_INIT \
  { sizeof(fettle_transfers), 0, 0, 0, 0 }
/* Those of the tensor's own maps, and of the session's runs since it was created or tuned. */
FETTLE_API fettle_status fettle_tensor_transfers(const fettle_tensor* tensor,
                                                 fettle_transfers* transfers);
FETTLE_API fettle_status fettle_session_transfers(const fettle_session* session,
                                                  fettle_transfers* transfers);

/* ---- The matrix product ---- */

/* C = alpha * op(A) * op(B) + beta * C on row-major fp32 matrices; op transposes if the flag is not
 * 0. op(A) is m x k, op(B) k x n, C m x n. Leading dimensions count elements from one stored row to
 * the next. With beta 0, C is not read. A and B must not overlap C. `threads` includes the caller;
 * 0 means all cores. The result does not depend on it. Subnormal numbers are taken as zero (see
 * fettle_gemm_options::subnormals). Fails with FETTLE_INVALID_ARGUMENT for negative sizes, short
 * leading dimensions and more than 1024 threads, FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_sgemm(int transpose_a, int transpose_b, int64_t m, int64_t n,
                                      int64_t k, float alpha, const float* a, int64_t lda,
                                      const float* b, int64_t ldb, float beta, float* c,
                                      int64_t ldc, int threads);

/* The same product, prepared once and called many times, on any device, for more types, and in
 * batches. One thread at a time may use a handle. */
typedef struct fettle_gemm fettle_gemm;

/* Every member may stay 0, the default. Members are appended in later versions. */
typedef struct fettle_gemm_options {
  size_t struct_size;
  fettle_dtype dtype_a; /* FETTLE_F32 (default), FETTLE_F16, FETTLE_I8 or FETTLE_U8 */
  fettle_dtype dtype_b; /* default: that of A. With bytes, either of the two */
  fettle_dtype dtype_c; /* default: that of A; with bytes only FETTLE_I32 */
  int transpose_a;      /* not 0: A is stored as k x m */
  int transpose_b;      /* not 0: B is stored as n x k */
  int threads;          /* the caller included; 0: all cores */
  /* Elements from one stored row to the next; 0: rows without gaps. */
  int64_t lda, ldb, ldc;
  int64_t batch; /* number of products; 0: 1 */
  /* With several products: elements from one matrix to the next. 0: all products share one A, or
   * one B. Matrices of C must not overlap. */
  int64_t stride_a, stride_b, stride_c;
  const void* b;         /* not NULL: B for all calls, copied here and packed once; in a batch, its
                            matrices are stride_b apart */
  const char* device;    /* auto|cpu|opencl[:PLATFORM[:DEVICE]]; NULL: auto. Matrices are in host
                            memory either way */
  const char* precision; /* high|normal|low, of the device; NULL: high */
  const char* database;  /* folder of the tuning database, "" for the user's; NULL: none */
  const char* tune;      /* none|fast|work-size|normal|wide|full: measure now what the database does
                            not know; NULL: use what it knows, else what is usually fast */
  double tune_seconds;   /* for measuring; 0: no limit */
  const char* subnormals; /* flush|keep, as for sessions; NULL: flush */
} fettle_gemm_options;
#define FETTLE_GEMM_OPTIONS_INIT                                                                   \
  {                                                                                                \
    sizeof(fettle_gemm_options), FETTLE_UNDEFINED, FETTLE_UNDEFINED, FETTLE_UNDEFINED, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL                                    \
  }

/* C = alpha * op(A) * op(B) + beta * C: op(A) is m x k, op(B) k x n, C m x n, all row-major.
 * FETTLE_F16 is summed in fp32. Products of bytes have alpha 1 and beta 0 or 1. `options` may be
 * NULL. Plans, packs and allocates for all later calls. Fails with FETTLE_INVALID_ARGUMENT for
 * negative sizes, leading dimensions shorter than a row, overlapping matrices of C and unknown
 * levels, FETTLE_UNSUPPORTED for other types and factors, FETTLE_DEVICE_UNAVAILABLE,
 * FETTLE_OUT_OF_MEMORY. */
FETTLE_API fettle_status fettle_gemm_create(int64_t m, int64_t n, int64_t k, double alpha,
                                            double beta, const fettle_gemm_options* options,
                                            fettle_gemm** gemm);
/* One call. `b` is not read if the options have it. As in BLAS, C is not read with beta 0, neither
 * A nor B is read with alpha 0 or k 0, and nothing happens if m, n or batch is 0. What is not read
 * may be NULL. A and B must not overlap C. FETTLE_INVALID_ARGUMENT if another operand is NULL. */
FETTLE_API fettle_status fettle_gemm_run(fettle_gemm* gemm, const void* a, const void* b, void* c);
/* The kernels of the last call, joined by " + ", for people to read; "" if nothing had to be
 * computed. Valid until the next call. */
FETTLE_API const char* fettle_gemm_kernels(const fettle_gemm* gemm);
FETTLE_API void fettle_gemm_free(fettle_gemm* gemm);

/* ---- Language models ---- */

/* A sequence of tokens of a language model. It reads tokens, gives the logits of the next one, and
 * keeps what it read in its own cache. Calls of one handle and of its forks run one after another;
 * fettle_generate_cancel never waits. Functions that write results to an array take its capacity.
 * They write what fits and return the full count, so a capacity of 0 asks for the count. */
typedef struct fettle_generate fettle_generate;

typedef struct fettle_generate_options {
  size_t struct_size;
  int64_t context;    /* most tokens of a sequence; 0: as many as in training, at most 4,096 */
  int64_t threads;    /* of the CPU, the caller included; 0: all cores */
  int64_t sequences;  /* forks for fettle_generate_step, with memory for all caches; 0: 1 */
  const char* device; /* as for sessions: where weights and caches are; NULL: auto */
  const char* cache;  /* "bytes": half of the memory; NULL: "f16" */
} fettle_generate_options;
#define FETTLE_GENERATE_OPTIONS_INIT \
  { sizeof(fettle_generate_options), 0, 0, 0, NULL, NULL }

/* Opens and maps a .gguf file, or a folder with an ONNX model and tokenizer.json, or that model.
 * `options` may be NULL. Fails with FETTLE_NOT_FOUND, FETTLE_IO, FETTLE_INVALID_MODEL,
 * FETTLE_UNSUPPORTED (the message says what is known), FETTLE_OUT_OF_MEMORY for the cache. */
FETTLE_API fettle_status fettle_generate_create(const char* path,
                                                const fettle_generate_options* options,
                                                fettle_generate** generate);
/* Another sequence with the same tokens so far and the same sampling. It shares the weights and has
 * its own cache. Fails with FETTLE_OUT_OF_MEMORY. */
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
  int64_t adds_begin;      /* not 0: texts should start with it; encode does not add it */
  int64_t cache_bytes;     /* size of the cache */
  int64_t threads;         /* of the CPU */
} fettle_generate_facts;
#define FETTLE_GENERATE_FACTS_INIT \
  { sizeof(fettle_generate_facts), 0, 0, 0, 0, 0, 0, 0, 0 }
FETTLE_API fettle_status fettle_generate_get_facts(const fettle_generate* generate,
                                                   fettle_generate_facts* facts);

/* The tokens of `size` bytes of text, any bytes. If `special` is not 0, names of control tokens in
 * the text become those tokens. The token that begins a text is not put in front. */
FETTLE_API fettle_status fettle_generate_encode(const fettle_generate* generate, const char* text,
                                                size_t size, int special, int32_t* tokens,
                                                size_t capacity, size_t* count);
/* The bytes of one token, which may be part of a code point. Control tokens have none. Fails with
 * FETTLE_INVALID_ARGUMENT outside the vocabulary. */
FETTLE_API fettle_status fettle_generate_decode(const fettle_generate* generate, int32_t token,
                                                char* bytes, size_t capacity, size_t* size);
/* 1 if an answer ends with the token, otherwise 0. */
FETTLE_API int fettle_generate_is_end(const fettle_generate* generate, int32_t token);
/* The text of a question in the form that the model was trained on for conversations, to be encoded
 * with `special`. `system` is what the model is told first; NULL: what the file says. Fails with
 * FETTLE_UNSUPPORTED if the file has no form that Fettle knows. */
FETTLE_API fettle_status fettle_generate_chat(const fettle_generate* generate, const char* system,
                                              const char* question, char* text, size_t capacity,
                                              size_t* size);

/* Reads tokens after those read so far. Fails with FETTLE_INVALID_ARGUMENT if there are none, one
 * is outside the vocabulary, or they exceed the context, and with FETTLE_CANCELLED. After a failure
 * nothing has been read. */
FETTLE_API fettle_status fettle_generate_read(fettle_generate* generate, const int32_t* tokens,
                                              size_t count);
/* Reads one token for each of `count` sequences, which are forks of one another, as
 * fettle_generate_read does. Sequences whose caches are side by side
 * (fettle_generate_options.sequences) share one pass over the weights. The results of a sequence do
 * not depend on the others. Each number of sequences is planned when it first occurs. Fails as
 * fettle_generate_read does, and with FETTLE_INVALID_ARGUMENT if one is listed twice or is not a
 * fork of the first. After a failure nothing has been read. */
FETTLE_API fettle_status fettle_generate_step(fettle_generate* const* sequences,
                                              const int32_t* tokens, size_t count);
/* The logits after the last token: one for each token of the vocabulary, valid until the next call
 * that reads. Fails with FETTLE_NOT_FOUND if no token was read since the last change. */
FETTLE_API fettle_status fettle_generate_logits(const fettle_generate* generate,
                                                const float** logits, size_t* count);

typedef struct fettle_generate_sampling {
  size_t struct_size;
  double temperature; /* 0: the largest logit; 1: the model's probabilities */
  double top_p;       /* choose among the fewest tokens with this total probability; 0: all */
  int64_t top_k;      /* choose among this many of the likeliest tokens; 0: all */
  uint64_t seed;      /* equal ones choose equal tokens */
} fettle_generate_sampling;
#define FETTLE_GENERATE_SAMPLING_INIT \
  { sizeof(fettle_generate_sampling), 0, 0, 0, 0 }
/* How fettle_generate_next chooses from now on. Without this call it takes the largest logit. Fails
 * with FETTLE_INVALID_ARGUMENT for numbers below 0 and a top_p above 1. */
FETTLE_API fettle_status fettle_generate_set_sampling(fettle_generate* generate,
                                                      const fettle_generate_sampling* sampling);
/* Chooses a token from the logits, and does not read it. Fails as fettle_generate_logits does. */
FETTLE_API fettle_status fettle_generate_next(fettle_generate* generate, int32_t* token);

/* Forgets all tokens but the first `count`. FETTLE_INVALID_ARGUMENT if they were not read, or if a
 * model with states (Mamba, LFM2) is to go elsewhere than to its last read's begin, or to 0. */
FETTLE_API fettle_status fettle_generate_rewind(fettle_generate* generate, int64_t count);
/* What was read so far, as bytes for fettle_generate_restore with the same model and any context
 * that is large enough. Nothing is written if `capacity` is too small. */
FETTLE_API fettle_status fettle_generate_save(const fettle_generate* generate, void* bytes,
                                              size_t capacity, size_t* size);
/* Replaces the tokens read so far by those of a save. Fails with FETTLE_CORRUPT for other bytes,
 * FETTLE_INVALID_ARGUMENT for those of another model or `cache` and those that exceed the context.
 * The sequence is then as before. */
FETTLE_API fettle_status fettle_generate_restore(fettle_generate* generate, const void* bytes,
                                                 size_t size);
/* Makes a fettle_generate_read or fettle_generate_step in progress fail with FETTLE_CANCELLED. May
 * be called from any thread and never waits. */
FETTLE_API void fettle_generate_cancel(fettle_generate* generate);

/* ---- A tuner for code of the caller's own ---- */

/* Searches the configurations of anything that you can run and time. Say what can be chosen
 * (parameters, constraints). Then either pass a function that runs one configuration
 * (fettle_tuner_run), or, in a program that runs anyway, ask for one configuration at a time and
 * report its time (fettle_tuner_ask, fettle_tuner_tell). A configuration is an array of values, in
 * the order in which the parameters were added. During fettle_tuner_run, calls that change the
 * search fail with FETTLE_BUSY, also from callbacks; the best so far can be read at any time. */
typedef struct fettle_tuner fettle_tuner;

/* `name` says what is tuned, in messages and in the database. */
FETTLE_API fettle_status fettle_tuner_create(const char* name, fettle_tuner** tuner);
FETTLE_API void fettle_tuner_free(fettle_tuner* tuner);

/* The next five functions fail with FETTLE_INVALID_ARGUMENT once the search has begun. */

/* Different values, in an order in which neighbours should perform alike. They are copied. */
FETTLE_API fettle_status fettle_tuner_add_parameter(fettle_tuner* tuner, const char* name,
                                                    const int64_t* values, size_t count);
/* A condition that valid configurations meet, such as "MWG % (MDIMC * VWM) == 0 and SA + SB < 2":
 * or and not · comparisons, `in [1, 2]` · + - * / // % ** · min max abs · names and numbers. Fails
 * with FETTLE_INVALID_ARGUMENT naming the column. Parameters come first. */
FETTLE_API fettle_status fettle_tuner_add_constraint(fettle_tuner* tuner, const char* expression);
/* Returns not 0 for valid configurations. It is called often, also for configurations that are not
 * measured, so it must be cheap. It must not call functions of its tuner. NULL: none. */
typedef int (*fettle_tuner_constraint)(const int64_t* values, size_t count, void* user);
FETTLE_API fettle_status fettle_tuner_set_constraint(fettle_tuner* tuner,
                                                     fettle_tuner_constraint function, void* user);
/* A configuration that is known to be good (a default, another machine's best). These are measured
 * first, in the order of the calls. FETTLE_NOT_FOUND if a parameter has no such value. */
FETTLE_API fettle_status fettle_tuner_add_known(fettle_tuner* tuner, const int64_t* values,
                                                size_t count);

typedef struct fettle_tuner_options {
  size_t struct_size;
  const char* strategy;    /* a name of docs/tuning.md; NULL: "local" */
  uint64_t seed;           /* equal seeds and times give equal searches */
  int64_t max_evaluations; /* 0: no limit */
  double max_seconds;      /* 0: no limit; holds if runs take about as long as earlier ones */
  const char* database;    /* a file that keeps what was measured; NULL: none */
  const char* version;     /* of the code and its input: times of other versions are not used */
} fettle_tuner_options;
#define FETTLE_TUNER_OPTIONS_INIT \
  { sizeof(fettle_tuner_options), NULL, 0, 0, 0, NULL, NULL }
FETTLE_API fettle_status fettle_tuner_set_options(fettle_tuner* tuner,
                                                  const fettle_tuner_options* options);

/* Runs one configuration and writes its time. Returns 0, or anything else if it failed. The time
 * should be a median of several runs: the search trusts it. */
typedef int (*fettle_tuner_run_function)(const int64_t* values, size_t count, double* ms,
                                         void* user);
/* Called after each successful run. Returns 0 if the results are right; others never win. */
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
/* Called after each evaluation. Returns not 0 to cancel. The struct has the library's size. */
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
 * FETTLE_CANCELLED (what was learned stays, and a further call continues), FETTLE_INVALID_ARGUMENT
 * if callbacks have no `run`, or if neither a budget nor the strategy `full` ends the search,
 * FETTLE_IO if the database cannot be written. */
FETTLE_API fettle_status fettle_tuner_run(fettle_tuner* tuner,
                                          const fettle_tuner_callbacks* callbacks);
/* Makes fettle_tuner_run return after the current configuration. May be called from any thread. */
FETTLE_API void fettle_tuner_cancel(fettle_tuner* tuner);

/* Writes the next configuration to measure; the same one until fettle_tuner_tell. Fails with
 * FETTLE_NOT_FOUND when the search is over. */
FETTLE_API fettle_status fettle_tuner_ask(fettle_tuner* tuner, int64_t* values, size_t count);
/* The time of the configuration that fettle_tuner_ask gave; 0 or less: it failed or was wrong. */
FETTLE_API fettle_status fettle_tuner_tell(fettle_tuner* tuner, double ms);

/* The fastest configuration so far. Fails with FETTLE_NOT_FOUND while there is none. `ms` may be
 * NULL. */
FETTLE_API fettle_status fettle_tuner_best(const fettle_tuner* tuner, int64_t* values, size_t count,
                                           double* ms);
/* One evaluation by its number, from 0; `ms` is 0 if it failed. Fails with FETTLE_NOT_FOUND past
 * the end. */
FETTLE_API fettle_status fettle_tuner_evaluation(const fettle_tuner* tuner, int64_t index,
                                                 int64_t* values, size_t count, double* ms);
FETTLE_API fettle_status fettle_tuner_get_state(const fettle_tuner* tuner,
                                                fettle_tuner_state* state);

#ifdef __cplusplus
}
#endif

#endif /* FETTLE_FETTLE_H_ */
