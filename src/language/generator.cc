#include "language/generator.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "language/cache_pool.h"
#include "language/saved_cache.h"
#include "runtime/model.h"

namespace fettle::language {
namespace {

/// Tokens of a prompt that are read in one run: as many as are left of this list's first that fits,
/// the last one filled up. Each length is planned once. A device needs more of them to have enough
/// to do than the CPU, whose longest run is the third.
constexpr int64_t kRunLengths[] = {2048, 512, 128, 32, 8, 1}, kLongRun = 128;
constexpr size_t kFirstOfCpu = 2;
constexpr int64_t kDefaultContext = 4096;

/// Whether so many tokens that are left are read in a run of `length`, filled up where that takes
/// no more than twice as long; long runs are filled up where little is missing.
bool Fills(int64_t left, int64_t length) {
  return left >= length || (length > kLongRun ? left * 8 >= length * 7 : left * 2 > length);
}

/// Does `row` for each of so many rows, in several threads where there are many.
template <typename Row>
void ForEachRow(int64_t rows, const Row& row) {
  constexpr int64_t kRowsOfThread = 128, kMostThreads = 16;
  const int64_t most = std::min<int64_t>(std::thread::hardware_concurrency(), kMostThreads);
  const int64_t parts = std::clamp<int64_t>(rows / kRowsOfThread, 1, std::max<int64_t>(1, most));
  const auto work = [&](int64_t part) {
    for (int64_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i) row(i);
  };
  std::vector<std::jthread> others;
  for (int64_t part = 1; part < parts; ++part) others.emplace_back(work, part);
  work(0);
}

}  // namespace

/// Tokens that a sequence reads in a run.
struct SequenceDecoder::Part {
  Impl* sequence = nullptr;
  std::span<const int32_t> tokens;
};

/// What sequences of one model have together.
struct SequenceDecoder::Common {
  std::shared_ptr<const gguf::File> file;
  gguf::Decoder decoder;
  uint64_t fingerprint = 0;
  int64_t context = 0, sequences = 1;
  DType cache = DType::kF16;
  std::shared_ptr<const Device> device;  // null: the CPU
  std::mutex run_mutex;  // a session, and what runs of a pool read, belong to one thread at a time
  std::unique_ptr<runtime::Session> session;
  std::mutex pools_mutex;
  std::vector<std::weak_ptr<CachePool>> pools;
  std::mutex cancel_mutex;
  std::span<const Part> runs;  // of the run in progress

  /// A pool with a free cache, which is taken.
  Result<std::shared_ptr<CachePool>> TakeCache(int64_t* cache);
  /// Reads tokens of sequences of one pool, filled up to `length` each.
  Status Run(std::span<const Part> parts, int64_t length);
  Status RunHeld(std::span<const Part> parts, CachePool::Run& run);
  void Mark(std::span<const Part> parts) {
    const std::lock_guard lock(cancel_mutex);
    runs = parts;
  }
};

struct SequenceDecoder::Impl {
  explicit Impl(std::shared_ptr<Common> shared) : common(std::move(shared)) {}
  ~Impl() {
    if (pool != nullptr) pool->Give(cache);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::shared_ptr<Common> common;
  std::shared_ptr<CachePool> pool;
  int64_t cache = 0, position = 0;
  std::atomic<bool> reads = false, cancelled = false;
  // Callers have spans of the first, which the second becomes where all tokens were read.
  Tensor logits, next_logits;

  Status TakeCache();
  Status Check(std::span<const int32_t> tokens) const;
  Status Read(std::span<const int32_t> tokens);
};

Result<std::shared_ptr<CachePool>> SequenceDecoder::Common::TakeCache(int64_t* cache) {
  const std::lock_guard lock(pools_mutex);
  std::erase_if(pools, [](const auto& pool) { return pool.expired(); });
  for (const auto& weak : pools) {
    auto pool = weak.lock();
    *cache = pool == nullptr ? -1 : pool->Take();
    if (*cache >= 0) return pool;
  }
  ASSIGN_OR_RETURN(auto made, CachePool::Create(decoder, context, sequences, this->cache, device));
  *cache = made->Take();
  pools.push_back(made);
  return made;
}

Status SequenceDecoder::Impl::TakeCache() {
  ASSIGN_OR_RETURN(pool, common->TakeCache(&cache));
  const Shape shape = {1, 1, common->decoder.vocabulary};
  ASSIGN_OR_RETURN(logits, Tensor::Create(DType::kF32, shape));
  ASSIGN_OR_RETURN(next_logits, Tensor::Create(DType::kF32, shape));
  return OkStatus();
}

Status SequenceDecoder::Common::RunHeld(std::span<const Part> parts, CachePool::Run& run) {
  const auto batch = std::ssize(parts);
  for (int64_t b = 0; b < batch; ++b) {
    const Part& part = parts[b];
    const auto count = std::ssize(part.tokens);
    float* const rows = run.hidden.host.as<float>().data() + b * run.length * decoder.width;
    // What fills the run up lies behind its tokens: no query sees it, the next run overwrites it.
    ForEachRow(run.length, [&](int64_t i) {
      gguf::EmbeddingRow(*file, decoder, part.tokens[std::min(i, count - 1)],
                         rows + i * decoder.width);
    });
    if (count > 1) gguf::DropEmbedding(*file);
    const int64_t first = part.sequence->position;
    run.position.host.as<int64_t>()[b] = first;
    run.last.host.as<int64_t>()[0] = count - 1;
    run.seqlens.host.as<int32_t>()[b] = static_cast<int32_t>(first + run.length - 1);
    run.cache_of.host.as<int32_t>()[b] = static_cast<int32_t>(part.sequence->cache);
  }
  RETURN_IF_ERROR(run.Send());
  Mark(parts);
  runtime::TensorMap none;
  const Status status = session->RunOn(run.inputs, run.outputs, &none);
  Mark({});
  RETURN_IF_ERROR(status);
  std::vector<Tensor*> logits;
  for (const Part& part : parts) logits.push_back(&part.sequence->next_logits);
  RETURN_IF_ERROR(run.FetchLogits(logits));
  for (const Part& part : parts) part.sequence->position += std::ssize(part.tokens);
  return OkStatus();
}

Status SequenceDecoder::Common::Run(std::span<const Part> parts, int64_t length) {
  const std::lock_guard lock(run_mutex);
  ASSIGN_OR_RETURN(CachePool::Run* const run,
                   parts[0].sequence->pool->RunOf(std::ssize(parts), length));
  return RunHeld(parts, *run);
}

Status SequenceDecoder::Impl::Check(std::span<const int32_t> tokens) const {
  const auto count = std::ssize(tokens);
  if (count == 0) return InvalidArgument("no tokens to read");
  if (count > common->context - position)
    return InvalidArgument("{} tokens after {} exceed the context of {}", count, position,
                           common->context);
  const int64_t vocabulary = common->decoder.vocabulary;
  for (int32_t token : tokens) {
    if (token < 0 || token >= vocabulary)
      return InvalidArgument("token {} lies outside the vocabulary of {}", token, vocabulary);
  }
  return OkStatus();
}

Status SequenceDecoder::Impl::Read(std::span<const int32_t> tokens) {
  while (!tokens.empty()) {
    if (cancelled) return Error(StatusCode::kCancelled, "cancelled");
    const auto left = std::ssize(tokens);
    const auto fits = [&](int64_t length) {
      return length <= common->context - position && Fills(left, length);
    };
    const auto lengths =
        std::span(kRunLengths).subspan(common->device == nullptr ? kFirstOfCpu : 0);
    const int64_t length = *std::ranges::find_if(lengths, fits);
    const int64_t taken = std::min<int64_t>(left, length);
    const Part part = {this, tokens.first(taken)};
    RETURN_IF_ERROR(common->Run({&part, 1}, length));
    tokens = tokens.subspan(taken);
  }
  return OkStatus();
}

SequenceDecoder::SequenceDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SequenceDecoder::~SequenceDecoder() = default;

Result<std::unique_ptr<SequenceDecoder>> SequenceDecoder::Create(
    std::shared_ptr<const gguf::File> file, const DecoderOptions& options) {
  auto common = std::make_shared<Common>();
  common->file = std::move(file);
  const std::string& name = common->file->name();
  auto decoder = gguf::ReadDecoder(*common->file);
  if (!decoder.ok()) return decoder.status().WithContext(name);
  common->decoder = std::move(*decoder);
  common->fingerprint = FingerprintOf(*common->file);
  common->context = options.context > 0
                        ? options.context
                        : std::min(kDefaultContext, common->decoder.trained_context);
  common->device = options.device;
  // Kernels of devices have one cache.
  common->sequences = options.device != nullptr ? 1 : std::max<int64_t>(1, options.sequences);
  gguf::DecoderForm form;
  form.caches = common->sequences;
  form.cache = common->cache = options.cache;
  auto graph = gguf::BuildDecoder(common->file, common->decoder, common->context, form);
  if (!graph.ok()) return graph.status().WithContext(name);
  ASSIGN_OR_RETURN(auto model, runtime::Model::FromGraph(std::move(*graph), name));
  runtime::SessionOptions session;
  session.threads = options.threads;
  session.cancelled = options.cancelled;
  if (options.device != nullptr) session.accelerators = {options.device};
  session.accelerator_only = options.device_only;
  session.queue_window = options.queue_window;
  session.kernel_ms = options.kernel_ms;
  session.waits_for_steps = options.waits_for_steps;
  ASSIGN_OR_RETURN(common->session, runtime::Session::Create(std::move(model), session));
  auto impl = std::make_unique<Impl>(std::move(common));
  RETURN_IF_ERROR(impl->TakeCache());
  return std::unique_ptr<SequenceDecoder>(new SequenceDecoder(std::move(impl)));
}

Status SequenceDecoder::Read(std::span<const int32_t> tokens, std::span<const float>* logits) {
  Impl& of = *impl_;
  RETURN_IF_ERROR(of.Check(tokens));
  const int64_t before = of.position;
  of.cancelled = false;
  of.reads = true;
  const Status status = of.Read(tokens);
  of.reads = false;
  if (!status.ok()) of.position = before;
  RETURN_IF_ERROR(status);
  std::swap(of.logits, of.next_logits);
  *logits = of.logits.as<float>();
  return OkStatus();
}

std::span<const float> SequenceDecoder::logits() const { return impl_->logits.as<float>(); }

void SequenceDecoder::Cancel() {
  if (!impl_->reads) return;
  impl_->cancelled = true;
  const std::lock_guard lock(impl_->common->cancel_mutex);
  for (const Part& part : impl_->common->runs) {
    if (part.sequence == impl_.get()) return impl_->common->session->Cancel();
  }
}

Status SequenceDecoder::CheckStep(std::span<SequenceDecoder* const> sequences,
                                  std::span<const int32_t> tokens) {
  if (sequences.empty() || sequences.size() != tokens.size())
    return InvalidArgument("{} tokens for {} sequences", tokens.size(), sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (std::find(sequences.begin(), sequences.begin() + i, sequences[i]) != sequences.begin() + i)
      return InvalidArgument("a sequence is listed twice in one step");
    if (sequences[i]->impl_->common != sequences[0]->impl_->common)
      return InvalidArgument("sequences of a step are forks of one another");
    RETURN_IF_ERROR(sequences[i]->impl_->Check(tokens.subspan(i, 1)));
  }
  return OkStatus();
}

/// Sequences of a pool one behind the other, a run for each pool.
Status SequenceDecoder::RunStep(std::span<Part> parts) {
  std::ranges::stable_sort(parts, std::less<>(),
                           [](const Part& part) { return part.sequence->pool.get(); });
  while (!parts.empty()) {
    for (const Part& part : parts) {
      if (part.sequence->cancelled) return Error(StatusCode::kCancelled, "cancelled");
    }
    const CachePool* pool = parts[0].sequence->pool.get();
    const auto end = std::ranges::find_if(
        parts, [&](const Part& part) { return part.sequence->pool.get() != pool; });
    const size_t count = end - parts.begin();
    RETURN_IF_ERROR(parts[0].sequence->common->Run(parts.first(count), 1));
    parts = parts.subspan(count);
  }
  return OkStatus();
}

Status SequenceDecoder::Step(std::span<SequenceDecoder* const> sequences,
                             std::span<const int32_t> tokens) {
  RETURN_IF_ERROR(CheckStep(sequences, tokens));
  std::vector<Part> parts;
  std::vector<int64_t> before;
  for (size_t i = 0; i < sequences.size(); ++i) {
    Impl* const impl = sequences[i]->impl_.get();
    parts.push_back({impl, tokens.subspan(i, 1)});
    before.push_back(impl->position);
    impl->cancelled = false;
    impl->reads = true;
  }
  const Status status = RunStep(parts);
  for (size_t i = 0; i < sequences.size(); ++i) {
    Impl& impl = *sequences[i]->impl_;
    impl.reads = false;
    if (status.ok())
      std::swap(impl.logits, impl.next_logits);
    else
      impl.position = before[i];
  }
  return status;
}

Status SequenceDecoder::Rewind(int64_t count) {
  if (count < 0 || count > impl_->position)
    return InvalidArgument("{} of {} tokens cannot be kept", count, impl_->position);
  impl_->position = count;
  return OkStatus();
}

Result<std::unique_ptr<SequenceDecoder>> SequenceDecoder::Fork() const {
  auto impl = std::make_unique<Impl>(impl_->common);
  RETURN_IF_ERROR(impl->TakeCache());
  impl->position = impl_->position;
  ASSIGN_OR_RETURN(const std::vector<Tensor> from, impl_->pool->Read(impl_->cache));
  ASSIGN_OR_RETURN(std::vector<Tensor> to, impl->pool->Read(impl->cache));
  for (size_t i = 0; i < to.size(); ++i) CopyRows(from[i], to[i], impl_->position);
  RETURN_IF_ERROR(impl->pool->Write(to));
  return std::unique_ptr<SequenceDecoder>(new SequenceDecoder(std::move(impl)));
}

int64_t SequenceDecoder::saved_bytes() const {
  return SavedBytes(impl_->pool->Of(impl_->cache), impl_->position);
}

Status SequenceDecoder::Save(std::span<std::byte> to) const {
  ASSIGN_OR_RETURN(const std::vector<Tensor> caches, impl_->pool->Read(impl_->cache));
  SaveCaches(caches, impl_->position, impl_->common->fingerprint, to);
  return OkStatus();
}

Status SequenceDecoder::Restore(std::span<const std::byte> saved) {
  ASSIGN_OR_RETURN(std::vector<Tensor> caches, impl_->pool->Read(impl_->cache));
  ASSIGN_OR_RETURN(const int64_t position,
                   RestoreCaches(saved, impl_->common->fingerprint, caches));
  RETURN_IF_ERROR(impl_->pool->Write(caches));
  impl_->position = position;
  return OkStatus();
}

int64_t SequenceDecoder::position() const { return impl_->position; }
int64_t SequenceDecoder::context() const { return impl_->common->context; }
const gguf::Decoder& SequenceDecoder::decoder() const { return impl_->common->decoder; }
const runtime::Session& SequenceDecoder::session() const { return *impl_->common->session; }
int64_t SequenceDecoder::cache_bytes() const { return impl_->pool->bytes_each(); }

}  // namespace fettle::language
