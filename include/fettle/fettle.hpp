// Fettle's C++ interface: header-only ownership and types over fettle.h (C++20).
//
// Every fallible call returns a Result: test it with ok(), read code() and message(), or take
// value(), which throws fettle::Error after a failure. Objects are movable. Tensors can be copied;
// copies share their elements. Threads may share objects by the rules of fettle.h; one thread
// assigns and destroys an object.
#pragma once

#if __cplusplus < 202002L
#error "fettle.hpp needs C++20 (-std=c++20); programs in older C++ can include fettle/fettle.h"
#else

#include <cstdint>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "fettle/fettle.h"

namespace fettle {

/// What value() throws.
class Error : public std::runtime_error {
 public:
  Error(fettle_status code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  fettle_status code() const { return code_; }

 private:
  fettle_status code_;
};

/// A value, or the code and message of a failure. Result<void> holds no value.
template <typename T>
class Result {
  using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  Result(Stored value) : state_(std::move(value)) {}
  /// The failure of the last call of this thread.
  static Result Failed(fettle_status code) { return Result(Error(code, fettle_last_error())); }

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  fettle_status code() const { return ok() ? FETTLE_OK : std::get<1>(state_).code(); }
  std::string message() const { return ok() ? "" : std::get<1>(state_).what(); }
  /// Throws Error after a failure.
  T value() && {
    if (!ok()) throw std::get<1>(state_);
    if constexpr (!std::is_void_v<T>) return std::get<0>(std::move(state_));
  }

 private:
  explicit Result(Error error) : state_(std::move(error)) {}
  std::variant<Stored, Error> state_;
};

/// The fettle_dtype of a C++ element type.
template <typename T>
constexpr fettle_dtype DTypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) return FETTLE_F32;
  if constexpr (std::is_same_v<U, double>) return FETTLE_F64;
  if constexpr (std::is_same_v<U, int8_t>) return FETTLE_I8;
  if constexpr (std::is_same_v<U, uint8_t>) return FETTLE_U8;
  if constexpr (std::is_same_v<U, int16_t>) return FETTLE_I16;
  if constexpr (std::is_same_v<U, uint16_t>) return FETTLE_U16;
  if constexpr (std::is_same_v<U, int32_t>) return FETTLE_I32;
  if constexpr (std::is_same_v<U, uint32_t>) return FETTLE_U32;
  if constexpr (std::is_same_v<U, int64_t>) return FETTLE_I64;
  if constexpr (std::is_same_v<U, uint64_t>) return FETTLE_U64;
  if constexpr (std::is_same_v<U, bool>) return FETTLE_BOOL;
  return FETTLE_UNDEFINED;
}

struct MapOptions {
  const char* layout = nullptr;           // row|NHWC|NCHW4c|...; null: row
  fettle_dtype dtype = FETTLE_UNDEFINED;  // of the mapping; FETTLE_UNDEFINED: the tensor's
  bool as_stored = false;                 // the device's own layout and type instead
};

/// A mapped tensor. Keeps the tensor alive, and unmaps it when destroyed.
class Mapping {
 public:
  Mapping(std::shared_ptr<fettle_tensor> tensor, const fettle_mapping& mapping)
      : tensor_(std::move(tensor)), mapping_(mapping) {}
  Mapping(Mapping&&) = default;
  Mapping& operator=(Mapping&& other) {
    if (this == &other) return *this;
    (void)Unmap();
    tensor_ = std::move(other.tensor_);
    mapping_ = other.mapping_;
    return *this;
  }
  ~Mapping() { (void)Unmap(); }

  /// data, row_pitch, row_bytes, rows, dtype, direct.
  const fettle_mapping& get() const { return mapping_; }
  /// The elements; empty if T is not their type, after Unmap, and for images in rows.
  template <typename T>
  std::span<T> as() const;
  /// Returns the tensor; later calls do nothing.
  Result<void> Unmap() {
    const std::shared_ptr<fettle_tensor> tensor = std::move(tensor_);
    const fettle_status code = tensor == nullptr ? FETTLE_OK : fettle_tensor_unmap(tensor.get());
    if (code != FETTLE_OK) return Result<void>::Failed(code);
    return std::monostate();
  }

 private:
  std::shared_ptr<fettle_tensor> tensor_;
  fettle_mapping mapping_;
};

/// A row-major host tensor, or one in a device's memory (Session::CreateTensor). Copies share their
/// elements.
class Tensor {
 public:
  /// Zero-filled.
  static Result<Tensor> Create(fettle_dtype dtype, std::span<const int64_t> dims) {
    fettle_tensor* handle = nullptr;
    const fettle_status code =
        fettle_tensor_create(dtype, static_cast<int>(dims.size()), dims.data(), &handle);
    if (code != FETTLE_OK) return Result<Tensor>::Failed(code);
    return Tensor(handle);
  }
  static Result<Tensor> Create(fettle_dtype dtype, std::initializer_list<int64_t> dims) {
    return Create(dtype, std::span(dims.begin(), dims.size()));
  }
  /// Over the caller's elements, which must outlive the tensor and the sessions that use it.
  template <typename T>
  static Result<Tensor> Wrap(std::span<T> elements, std::initializer_list<int64_t> dims) {
    fettle_tensor* handle = nullptr;
    const fettle_status code =
        fettle_tensor_wrap(DTypeOf<T>(), static_cast<int>(dims.size()), dims.begin(),
                           elements.data(), elements.size_bytes(), &handle);
    if (code != FETTLE_OK) return Result<Tensor>::Failed(code);
    return Tensor(handle);
  }
  /// Takes ownership.
  explicit Tensor(fettle_tensor* handle)
      : handle_(handle, [](fettle_tensor* tensor) { (void)fettle_tensor_free(tensor); }) {}

  fettle_dtype dtype() const { return fettle_tensor_dtype(get()); }
  std::vector<int64_t> dims() const {
    const int64_t* begin = fettle_tensor_dims(get());
    return {begin, begin + fettle_tensor_rank(get())};
  }
  size_t size_bytes() const { return fettle_tensor_size(get()); }
  Result<Mapping> Map(fettle_map_access access, const MapOptions& options = {}) const {
    fettle_map_options raw = FETTLE_MAP_OPTIONS_INIT;
    raw.layout = options.layout;
    raw.dtype = options.dtype;
    raw.as_stored = options.as_stored ? 1 : 0;
    fettle_mapping mapping = FETTLE_MAPPING_INIT;
    const fettle_status code = fettle_tensor_map(get(), access, &raw, &mapping);
    if (code != FETTLE_OK) return Result<Mapping>::Failed(code);
    return Mapping(handle_, mapping);
  }
  /// Of its own maps so far.
  fettle_transfers transfers() const {
    fettle_transfers transfers = FETTLE_TRANSFERS_INIT;
    fettle_tensor_transfers(get(), &transfers);
    return transfers;
  }
  /// The elements; empty if T is not their type, and if the tensor has to be mapped.
  template <typename T>
  std::span<T> as() const {
    if (DTypeOf<T>() != dtype() || fettle_tensor_data(get()) == nullptr) return {};
    return {static_cast<T*>(fettle_tensor_data(get())), size_bytes() / sizeof(T)};
  }
  fettle_tensor* get() const { return handle_.get(); }

 private:
  std::shared_ptr<fettle_tensor> handle_;
};

template <typename T>
std::span<T> Mapping::as() const {
  if (tensor_ == nullptr || DTypeOf<T>() != mapping_.dtype || mapping_.rows != 1) return {};
  return {static_cast<T*>(mapping_.data), mapping_.row_bytes / sizeof(T)};
}

/// An input or output of a model; an extent of -1 is open.
struct ValueInfo {
  std::string name = {};
  fettle_dtype dtype = FETTLE_UNDEFINED;
  bool has_shape = false;
  std::vector<int64_t> dims = {};
};

class Model {
 public:
  static Result<Model> Load(const std::string& path) {
    fettle_model* handle = nullptr;
    const fettle_status code = fettle_model_load(path.c_str(), &handle);
    return code == FETTLE_OK ? Result<Model>(Model(handle)) : Result<Model>::Failed(code);
  }
  /// From memory, which is copied.
  static Result<Model> LoadBytes(std::span<const std::byte> bytes, const std::string& name) {
    fettle_model* handle = nullptr;
    const auto code = fettle_model_load_bytes(bytes.data(), bytes.size(), name.c_str(), &handle);
    return code == FETTLE_OK ? Result<Model>(Model(handle)) : Result<Model>::Failed(code);
  }
  /// Takes ownership.
  explicit Model(fettle_model* handle) : handle_(handle) {}

  std::vector<ValueInfo> inputs() const {
    return List(fettle_model_input_count(get()), fettle_model_input);
  }
  std::vector<ValueInfo> outputs() const {
    return List(fettle_model_output_count(get()), fettle_model_output);
  }
  const fettle_model* get() const { return handle_.get(); }

 private:
  template <typename Describe>
  std::vector<ValueInfo> List(size_t count, Describe describe) const {
    std::vector<ValueInfo> list;
    for (size_t i = 0; i < count; ++i) {
      fettle_value_info info = FETTLE_VALUE_INFO_INIT;
      if (describe(get(), i, &info) != FETTLE_OK) continue;
      list.push_back(
          {info.name, info.dtype, info.rank >= 0,
           std::vector<int64_t>(info.dims, info.dims + (info.rank < 0 ? 0 : info.rank))});
    }
    return list;
  }

  struct Free {
    void operator()(fettle_model* handle) const { fettle_model_free(handle); }
  };
  std::unique_ptr<fettle_model, Free> handle_;
};

struct SessionOptions {
  int threads = 0;  // 0: all cores
  bool reference_only = false;
  std::vector<std::string> extra_outputs = {};  // any values of the model
  std::string device = "auto";                  // auto|cpu|opencl[:PLATFORM[:DEVICE]]
  bool strict_device = false;        // fail, instead of using the CPU for what the device cannot do
  std::string precision = "high";    // high|normal|low, as in fettle.h
  std::string memory = "auto";       // auto|buffer|image, of the device
  int queue_window = 0;              // the most commands in the queue; 0: no limit
  double kernel_ms = 0;              // split launches that take longer; 0: never
  bool keep_programs = false;        // the device's compiled programs, in the folder `programs`
  std::string programs = {};         // "": the user's cache
  std::string svm = "off";           // auto|off|coarse|fine
  std::string when_busy = "wait";    // wait|fail
  std::string subnormals = "flush";  // flush|keep
  int64_t max_memory = 0;            // bytes; 0: most of the machine's memory
  int64_t max_runs = 0;              // the most asynchronous runs that wait or work; 0: 16
  std::string start = "ready";       // ready|fast: the CPU answers until the device is ready
};

/// Texts are read during the call.
struct TensorOptions {
  const char* memory = nullptr;             // buffer|image; null: buffer
  const char* layout = nullptr;             // null: row, for images NC4HW4
  fettle_dtype storage = FETTLE_UNDEFINED;  // FETTLE_UNDEFINED: the tensor's type
};

/// Texts as in fettle_tune_options; they are read during the call.
struct TuneOptions {
  const char* level = nullptr;     // none|fast|work-size|normal|wide|full; null: normal
  double budget_seconds = 0;       // for everything, the package included; 0: no limit
  const char* database = nullptr;  // folder, "" for the user's; null: keep nothing
  const char* package = nullptr;   // file to write the tuned model to; null: none
  bool packed_weights = false;     // store packed weights too: a larger package, starts sooner
  fettle_tune_progress_function progress = nullptr;
  void* user = nullptr;  // of `progress`
};

/// Texts as in fettle_background_options; they are read during the call.
struct BackgroundOptions {
  const char* level = nullptr;     // none|fast|work-size|normal|wide|full; null: normal
  const char* database = nullptr;  // folder, "" for the user's; null: keep nothing
};

/// The progress of a background tuning: fettle_background_state.
struct BackgroundState {
  std::string stage = {}, reason = {};
  bool is_over = true;
  int64_t measured = 0, open = 0;
  double worked_seconds = 0, waited_seconds = 0, before_ms = 0, after_ms = 0;
};

/// One step of a run.
struct Step {
  std::string node = {}, op = {}, kernel = {};
  double ms = 0;
  int64_t macs = 0, bytes = 0;
};

/// A run that Session::RunAsync began, and its outputs when they are ready. Destroying it does not
/// end the run.
class AsyncRun {
 public:
  using Outputs = Result<std::vector<Tensor> >;
  AsyncRun(fettle_run* run, std::future<Outputs> outputs)
      : outputs(std::move(outputs)), run_(run) {}

  /// With code FETTLE_CANCELLED after Cancel. Always set, also if the session is destroyed first.
  std::future<Outputs> outputs;
  /// From any thread (fettle_run_cancel).
  void Cancel() { fettle_run_cancel(run_.get()); }

 private:
  struct Free {
    void operator()(fettle_run* run) const { fettle_run_free(run); }
  };
  std::unique_ptr<fettle_run, Free> run_;
};

class Session {
 public:
  static Result<Session> Create(const Model& model, const SessionOptions& options = {}) {
    std::vector<const char*> extra;
    for (const std::string& name : options.extra_outputs) extra.push_back(name.c_str());
    fettle_session_options raw = FETTLE_SESSION_OPTIONS_INIT;
    raw.threads = options.threads;
    raw.reference_only = options.reference_only ? 1 : 0;
    raw.extra_outputs = extra.data();
    raw.extra_output_count = extra.size();
    raw.device = options.device.c_str();
    raw.strict_device = options.strict_device ? 1 : 0;
    raw.precision = options.precision.c_str();
    raw.memory = options.memory.c_str();
    raw.queue_window = options.queue_window;
    raw.kernel_ms = options.kernel_ms;
    raw.programs = options.keep_programs ? options.programs.c_str() : nullptr;
    raw.svm = options.svm.c_str();
    raw.when_busy = options.when_busy.c_str();
    raw.subnormals = options.subnormals.c_str();
    raw.max_memory = options.max_memory;
    raw.max_runs = options.max_runs;
    raw.start = options.start.c_str();
    fettle_session* handle = nullptr;
    if (const auto code = fettle_session_create(model.get(), &raw, &handle); code != FETTLE_OK)
      return Result<Session>::Failed(code);
    return Session(handle);
  }
  /// Takes ownership.
  explicit Session(fettle_session* handle) : handle_(handle) {}

  Result<void> SetInput(const std::string& name, const Tensor& tensor) {
    return Check(fettle_session_set_input(get(), name.c_str(), tensor.get()));
  }
  /// The tensor that runs write this output into.
  Result<void> SetOutput(const std::string& name, const Tensor& tensor) {
    return Check(fettle_session_set_output(get(), name.c_str(), tensor.get()));
  }
  /// Runs allocate a tensor for this output again.
  Result<void> UnsetOutput(const std::string& name) {
    return Check(fettle_session_set_output(get(), name.c_str(), nullptr));
  }
  /// In the memory of the session's device, with undefined elements.
  Result<Tensor> CreateTensor(fettle_dtype dtype, std::span<const int64_t> dims,
                              const TensorOptions& options = {}) const {
    fettle_tensor_options raw = FETTLE_TENSOR_OPTIONS_INIT;
    raw.memory = options.memory;
    raw.layout = options.layout;
    raw.storage = options.storage;
    fettle_tensor* tensor = nullptr;
    const fettle_status code = fettle_session_create_tensor(
        get(), dtype, static_cast<int>(dims.size()), dims.data(), &raw, &tensor);
    if (code != FETTLE_OK) return Result<Tensor>::Failed(code);
    return Tensor(tensor);
  }
  Result<Tensor> CreateTensor(fettle_dtype dtype, std::initializer_list<int64_t> dims,
                              const TensorOptions& options = {}) const {
    return CreateTensor(dtype, std::span(dims.begin(), dims.size()), options);
  }
  Result<void> Prepare() { return Check(fettle_session_prepare(get())); }
  Result<void> Run() { return Check(fettle_session_run(get())); }
  /// Measures for the inputs that are set and continues with the best plan.
  Result<fettle_tune_report> Tune(const TuneOptions& options = {}) {
    fettle_tune_options raw = FETTLE_TUNE_OPTIONS_INIT;
    raw.level = options.level;
    raw.budget_seconds = options.budget_seconds;
    raw.database = options.database;
    raw.package = options.package;
    raw.packed_weights = options.packed_weights ? 1 : 0;
    raw.progress = options.progress;
    raw.user = options.user;
    fettle_tune_report report = FETTLE_TUNE_REPORT_INIT;
    const fettle_status code = fettle_session_tune(get(), &raw, &report);
    if (code != FETTLE_OK) return Result<fettle_tune_report>::Failed(code);
    return report;
  }
  /// fettle_session_tune_in_background; budget 0: until the search ends, share 0: in idle time.
  Result<void> TuneInBackground(double budget_seconds = 0, double share = 0,
                                const BackgroundOptions& options = {}) {
    fettle_background_options raw = FETTLE_BACKGROUND_OPTIONS_INIT;
    raw.budget_seconds = budget_seconds;
    raw.share = share;
    raw.level = options.level;
    raw.database = options.database;
    return Check(fettle_session_tune_in_background(get(), &raw));
  }
  BackgroundState background() const {
    fettle_background_state raw = FETTLE_BACKGROUND_STATE_INIT;
    if (fettle_session_background(get(), &raw) != FETTLE_OK) return {};
    return {raw.stage,          raw.reason,         raw.is_over != 0, raw.measured, raw.open,
            raw.worked_seconds, raw.waited_seconds, raw.before_ms,    raw.after_ms};
  }
  void CancelBackground() { fettle_session_cancel_background(get()); }
  Result<void> WaitForBackground(double seconds) {
    return Check(fettle_session_wait_background(get(), seconds));
  }
  /// A result of the last run, which later runs do not change.
  Result<Tensor> Output(const std::string& name) const {
    fettle_tensor* tensor = nullptr;
    const fettle_status code = fettle_session_output(get(), name.c_str(), &tensor);
    if (code != FETTLE_OK) return Result<Tensor>::Failed(code);
    return Tensor(tensor);
  }
  /// SetInput (for this run only), Run and Output in one call, for threads that share the session.
  Result<std::vector<Tensor> > Infer(const std::vector<std::pair<std::string, Tensor> >& inputs,
                                     const std::vector<std::string>& outputs) {
    const Names in(inputs), out(outputs);
    std::vector<fettle_tensor*> raw(outputs.size());
    const fettle_status code =
        fettle_session_infer(get(), in.names.data(), in.tensors.data(), in.tensors.size(),
                             out.names.data(), raw.data(), raw.size());
    if (code != FETTLE_OK) return Result<std::vector<Tensor> >::Failed(code);
    return std::vector<Tensor>(raw.begin(), raw.end());
  }
  /// Begins what Infer does and returns. Such runs are executed in the order of the calls
  /// (fettle_session_run_async). Do not change the elements of inputs before the outputs are
  /// ready.
  Result<AsyncRun> RunAsync(const std::vector<std::pair<std::string, Tensor> >& inputs,
                            const std::vector<std::string>& outputs) {
    using Promise = std::promise<AsyncRun::Outputs>;
    const Names in(inputs), out(outputs);
    auto promise = std::make_unique<Promise>();
    std::future<AsyncRun::Outputs> future = promise->get_future();
    const auto tell = [](void* user, fettle_status code, fettle_tensor** made, size_t count) {
      const std::unique_ptr<Promise> told(static_cast<Promise*>(user));
      told->set_value(code == FETTLE_OK ? AsyncRun::Outputs(std::vector<Tensor>(made, made + count))
                                        : AsyncRun::Outputs::Failed(code));
    };
    fettle_run* run = nullptr;
    const fettle_status code =
        fettle_session_run_async(get(), in.names.data(), in.tensors.data(), in.tensors.size(),
                                 out.names.data(), out.names.size(), tell, promise.get(), &run);
    if (code != FETTLE_OK) return Result<AsyncRun>::Failed(code);
    (void)promise.release();  // the callback's
    return AsyncRun(run, std::move(future));
  }
  /// Between host and device, in all runs so far.
  fettle_transfers transfers() const {
    fettle_transfers transfers = FETTLE_TRANSFERS_INIT;
    fettle_session_transfers(get(), &transfers);
    return transfers;
  }
  /// From any thread: a run in progress fails with FETTLE_CANCELLED.
  void Cancel() { fettle_session_cancel(get()); }

  std::vector<Step> profile() const {
    std::vector<Step> steps;
    for (size_t i = 0; i < fettle_session_step_count(get()); ++i) {
      fettle_step step = FETTLE_STEP_INIT;
      if (fettle_session_step(get(), i, &step) == FETTLE_OK)
        steps.push_back({step.node, step.op, step.kernel, step.ms, step.macs, step.bytes});
    }
    return steps;
  }
  fettle_memory memory() const {
    fettle_memory memory = FETTLE_MEMORY_INIT;
    fettle_session_memory(get(), &memory);
    return memory;
  }
  fettle_session* get() const { return handle_.get(); }

 private:
  static Result<void> Check(fettle_status code) {
    if (code != FETTLE_OK) return Result<void>::Failed(code);
    return std::monostate();
  }
  /// As C takes them.
  struct Names {
    explicit Names(const std::vector<std::pair<std::string, Tensor> >& inputs) {
      for (const auto& [name, tensor] : inputs) {
        names.push_back(name.c_str());
        tensors.push_back(tensor.get());
      }
    }
    explicit Names(const std::vector<std::string>& outputs) {
      for (const std::string& name : outputs) names.push_back(name.c_str());
    }
    std::vector<const char*> names;
    std::vector<const fettle_tensor*> tensors;
  };
  struct Free {
    void operator()(fettle_session* handle) const { fettle_session_free(handle); }
  };
  std::unique_ptr<fettle_session, Free> handle_;
};

/// A matrix product prepared once (fettle_gemm_create): C = alpha * op(A) * op(B) + beta * C.
class Gemm {
 public:
  /// Fails as fettle_gemm_create does.
  static Result<Gemm> Create(int64_t m, int64_t n, int64_t k, double alpha = 1, double beta = 0,
                             const fettle_gemm_options& options = FETTLE_GEMM_OPTIONS_INIT) {
    fettle_gemm* handle = nullptr;
    const fettle_status code = fettle_gemm_create(m, n, k, alpha, beta, &options, &handle);
    if (code != FETTLE_OK) return Result<Gemm>::Failed(code);
    return Gemm(handle);
  }
  /// Takes over the handle.
  explicit Gemm(fettle_gemm* handle) : handle_(handle) {}

  /// `b` is not read if the options have it.
  Result<void> Run(const void* a, const void* b, void* c) {
    const fettle_status code = fettle_gemm_run(get(), a, b, c);
    if (code != FETTLE_OK) return Result<void>::Failed(code);
    return std::monostate();
  }
  std::string kernels() const { return fettle_gemm_kernels(get()); }
  fettle_gemm* get() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(fettle_gemm* handle) const { fettle_gemm_free(handle); }
  };
  std::unique_ptr<fettle_gemm, Free> handle_;
};

struct GenerateOptions {
  int64_t context = 0;    // most tokens; 0: as many as in training, at most 4,096
  int64_t threads = 0;    // 0: all cores
  int64_t sequences = 1;  // forks that Step reads in one pass over the weights
  std::string device = "auto", cache = "f16";  // as in SessionOptions; "f16" or "bytes"
};

struct Sampling {
  double temperature = 0;  // 0: the largest logit
  double top_p = 0;        // 0: all
  int64_t top_k = 0;       // 0: all
  uint64_t seed = 0;
};

/// A sequence of tokens of a language model (fettle_generate).
class Generator {
 public:
  static Result<Generator> Create(const std::string& path, const GenerateOptions& from = {}) {
    const fettle_generate_options raw = {sizeof(raw),    from.context,        from.threads,
                                         from.sequences, from.device.c_str(), from.cache.c_str()};
    fettle_generate* handle = nullptr;
    const fettle_status code = fettle_generate_create(path.c_str(), &raw, &handle);
    if (code != FETTLE_OK) return Result<Generator>::Failed(code);
    return Generator(handle);
  }
  explicit Generator(fettle_generate* handle) : handle_(handle) {}  // takes ownership
  /// Another sequence with the same tokens so far.
  Result<Generator> Fork() const {
    fettle_generate* handle = nullptr;
    const fettle_status code = fettle_generate_fork(get(), &handle);
    if (code != FETTLE_OK) return Result<Generator>::Failed(code);
    return Generator(handle);
  }

  fettle_generate_facts facts() const {
    fettle_generate_facts facts = FETTLE_GENERATE_FACTS_INIT;
    fettle_generate_get_facts(get(), &facts);
    return facts;
  }
  Result<std::vector<int32_t> > Encode(std::string_view text, bool special = false) const {
    return Fill<std::vector<int32_t> >([&](int32_t* to, size_t capacity, size_t* count) {
      return fettle_generate_encode(get(), text.data(), text.size(), special ? 1 : 0, to, capacity,
                                    count);
    });
  }
  Result<std::string> Decode(int32_t token) const {
    return Fill<std::string>([&](char* to, size_t capacity, size_t* size) {
      return fettle_generate_decode(get(), token, to, capacity, size);
    });
  }
  bool IsEnd(int32_t token) const { return fettle_generate_is_end(get(), token) != 0; }
  Result<std::string> Chat(const std::string& question, const std::string& system = "") const {
    return Fill<std::string>([&](char* to, size_t capacity, size_t* size) {
      return fettle_generate_chat(get(), system.c_str(), question.c_str(), to, capacity, size);
    });
  }

  Result<void> Read(std::span<const int32_t> tokens) {
    return Check(fettle_generate_read(get(), tokens.data(), tokens.size()));
  }
  /// Reads one token for each of several sequences, which are forks of one another.
  static Result<void> Step(std::span<fettle_generate* const> sequences, const int32_t* tokens) {
    return Check(fettle_generate_step(sequences.data(), tokens, sequences.size()));
  }
  /// Of the next token; valid until the next call that reads.
  Result<std::span<const float> > Logits() const {
    const float* logits = nullptr;
    size_t count = 0;
    const fettle_status code = fettle_generate_logits(get(), &logits, &count);
    if (code != FETTLE_OK) return Result<std::span<const float> >::Failed(code);
    return std::span<const float>(logits, count);
  }
  Result<void> SetSampling(const Sampling& sampling) {
    const fettle_generate_sampling raw = {sizeof(raw), sampling.temperature, sampling.top_p,
                                          sampling.top_k, sampling.seed};
    return Check(fettle_generate_set_sampling(get(), &raw));
  }
  /// Chooses a token from the logits, and does not read it.
  Result<int32_t> Next() {
    int32_t token = 0;
    const fettle_status code = fettle_generate_next(get(), &token);
    if (code != FETTLE_OK) return Result<int32_t>::Failed(code);
    return token;
  }
  Result<void> Rewind(int64_t count) { return Check(fettle_generate_rewind(get(), count)); }
  Result<std::vector<std::byte> > Save() const {
    return Fill<std::vector<std::byte> >([&](std::byte* to, size_t capacity, size_t* size) {
      return fettle_generate_save(get(), to, capacity, size);
    });
  }
  Result<void> Restore(std::span<const std::byte> saved) {
    return Check(fettle_generate_restore(get(), saved.data(), saved.size()));
  }
  /// From any thread.
  void Cancel() { fettle_generate_cancel(get()); }
  fettle_generate* get() const { return handle_.get(); }

 private:
  /// The array that a function writes, after a first call for its length.
  template <typename Array, typename Function>
  static Result<Array> Fill(Function function) {
    Array array;
    size_t count = 0;
    fettle_status code = function(array.data(), 0, &count);
    if (code == FETTLE_OK) array.resize(count);
    if (code == FETTLE_OK) code = function(array.data(), count, &count);
    if (code != FETTLE_OK) return Result<Array>::Failed(code);
    return array;
  }
  static Result<void> Check(fettle_status code) {
    if (code != FETTLE_OK) return Result<void>::Failed(code);
    return std::monostate();
  }
  struct Free {
    void operator()(fettle_generate* handle) const { fettle_generate_free(handle); }
  };
  std::unique_ptr<fettle_generate, Free> handle_;
};

/// What a Tuner calls. `run` returns milliseconds, or nothing if the configuration failed. `check`
/// returns true for right results. The search continues while `progress` returns true. If one
/// throws, Tuner::Run fails.
struct TunerCallbacks {
  std::function<std::optional<double>(std::span<const int64_t>)> run = {};
  std::function<bool(std::span<const int64_t>)> check = {};
  std::function<bool(const fettle_tuner_state&)> progress = {};
};

struct TunerOptions {
  std::string strategy = "local";
  uint64_t seed = 0;
  int64_t max_evaluations = 0;  // 0: no limit
  double max_seconds = 0;       // 0: no limit
  std::string database = {};    // a file; empty: none
  std::string version = {};     // of the code and its input
};

/// One configuration, in the order of the parameters, and its time (0: it failed).
struct Tuned {
  std::vector<int64_t> values = {};
  double ms = 0;
};

/// Searches the configurations of your own code.
class Tuner {
 public:
  static Result<Tuner> Create(const std::string& name) {
    fettle_tuner* handle = nullptr;
    const fettle_status code = fettle_tuner_create(name.c_str(), &handle);
    if (code != FETTLE_OK) return Result<Tuner>::Failed(code);
    return Tuner(handle);
  }
  /// Takes ownership; the handle must have no parameters yet.
  explicit Tuner(fettle_tuner* handle) : handle_(handle) {}

  Result<void> AddParameter(const std::string& name, std::span<const int64_t> values) {
    const fettle_status code =
        fettle_tuner_add_parameter(get(), name.c_str(), values.data(), values.size());
    if (code == FETTLE_OK) ++parameters_;
    return Check(code);
  }
  Result<void> AddParameter(const std::string& name, std::initializer_list<int64_t> values) {
    return AddParameter(name, std::span(values.begin(), values.size()));
  }
  /// "MWG % (MDIMC * VWM) == 0".
  Result<void> AddConstraint(const std::string& expression) {
    return Check(fettle_tuner_add_constraint(get(), expression.c_str()));
  }
  Result<void> SetConstraint(std::function<bool(std::span<const int64_t>)> function) {
    constraint_ = std::make_unique<Constraint>(std::move(function));
    const auto call = [](const int64_t* values, size_t count, void* user) -> int {
      return (*static_cast<Constraint*>(user))(std::span(values, count)) ? 1 : 0;
    };
    return Check(fettle_tuner_set_constraint(get(), call, constraint_.get()));
  }
  Result<void> AddKnown(std::span<const int64_t> values) {
    return Check(fettle_tuner_add_known(get(), values.data(), values.size()));
  }
  Result<void> SetOptions(const TunerOptions& options) {
    fettle_tuner_options raw = FETTLE_TUNER_OPTIONS_INIT;
    raw.strategy = options.strategy.c_str();
    raw.seed = options.seed;
    raw.max_evaluations = options.max_evaluations;
    raw.max_seconds = options.max_seconds;
    raw.database = options.database.empty() ? nullptr : options.database.c_str();
    raw.version = options.version.c_str();
    return Check(fettle_tuner_set_options(get(), &raw));
  }

  Result<void> Run(TunerCallbacks callbacks) {
    fettle_tuner_callbacks raw = FETTLE_TUNER_CALLBACKS_INIT;
    raw.user = &callbacks;
    if (callbacks.run) raw.run = CallRun;
    if (callbacks.check) raw.check = CallCheck;
    if (callbacks.progress) raw.progress = CallProgress;
    return Check(fettle_tuner_run(get(), &raw));
  }
  /// From any thread.
  void Cancel() { fettle_tuner_cancel(get()); }

  /// FETTLE_NOT_FOUND when the search is over.
  Result<std::vector<int64_t> > Ask() {
    std::vector<int64_t> values(parameters_);
    const fettle_status code = fettle_tuner_ask(get(), values.data(), values.size());
    if (code != FETTLE_OK) return Result<std::vector<int64_t> >::Failed(code);
    return values;
  }
  Result<void> Tell(double ms) { return Check(fettle_tuner_tell(get(), ms)); }

  Result<Tuned> Best() const {
    Tuned best{.values = std::vector<int64_t>(parameters_)};
    const fettle_status code = fettle_tuner_best(get(), best.values.data(), parameters_, &best.ms);
    if (code != FETTLE_OK) return Result<Tuned>::Failed(code);
    return best;
  }
  std::vector<Tuned> evaluations() const {
    std::vector<Tuned> list;
    for (int64_t i = 0; i < state().evaluations; ++i) {
      Tuned one{.values = std::vector<int64_t>(parameters_)};
      if (fettle_tuner_evaluation(get(), i, one.values.data(), parameters_, &one.ms) == FETTLE_OK)
        list.push_back(std::move(one));
    }
    return list;
  }
  fettle_tuner_state state() const {
    fettle_tuner_state state = FETTLE_TUNER_STATE_INIT;
    fettle_tuner_get_state(get(), &state);
    return state;
  }
  fettle_tuner* get() const { return handle_.get(); }

 private:
  using Constraint = std::function<bool(std::span<const int64_t>)>;

  static int CallRun(const int64_t* values, size_t count, double* ms, void* user) {
    const auto time = static_cast<TunerCallbacks*>(user)->run(std::span(values, count));
    if (time) *ms = *time;
    return time ? 0 : 1;
  }
  static int CallCheck(const int64_t* values, size_t count, void* user) {
    return static_cast<TunerCallbacks*>(user)->check(std::span(values, count)) ? 0 : 1;
  }
  static int CallProgress(const fettle_tuner_state* state, void* user) {
    return static_cast<TunerCallbacks*>(user)->progress(*state) ? 0 : 1;
  }
  static Result<void> Check(fettle_status code) {
    if (code != FETTLE_OK) return Result<void>::Failed(code);
    return std::monostate();
  }
  struct Free {
    void operator()(fettle_tuner* handle) const { fettle_tuner_free(handle); }
  };
  std::unique_ptr<Constraint> constraint_;  // outlives the handle below
  std::unique_ptr<fettle_tuner, Free> handle_;
  size_t parameters_ = 0;
};

}  // namespace fettle

#endif  // C++20
