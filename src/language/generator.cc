#include "language/generator.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "language/cache_pool.h"
#include "language/run_lengths.h"
#include "language/saved_cache.h"
#include "runtime/model.h"

namespace fettle::language {
namespace {

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

class GgufDecoder;

/// Tokens that a sequence reads in a run.
struct Part {
  GgufDecoder* sequence = nullptr;
  std::span<const int32_t> tokens;
};

/// What sequences of one model have together.
struct Common {
  std::shared_ptr<const gguf::File> file;
  gguf::Decoder decoder;
  uint64_t fingerprint = 0;
  int64_t context = 0, sequences = 1;
  bool has_states = false;
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

class GgufDecoder final : public SequenceDecoder {
 public:
  explicit GgufDecoder(std::shared_ptr<Common> shared) : common(std::move(shared)) {}
  ~GgufDecoder() override {
    if (pool != nullptr) pool->Give(cache);
  }

  Status TakeCache();
  Status Read(std::span<const int32_t> tokens, std::span<const float>* to_logits) override;
  std::span<const float> logits() const override { return last_logits.as<float>(); }
  Status Rewind(int64_t count) override;
  void Cancel() override;
  Result<std::unique_ptr<SequenceDecoder>> Fork() const override;
  int64_t saved_bytes() const override {
    return SavedBytes(pool->Of(cache), place) + pool->state_bytes();
  }
  Status Save(std::span<std::byte> to) const override;
  Status Restore(std::span<const std::byte> saved) override;
  int64_t position() const override { return place; }
  int64_t context() const override { return common->context; }
  int64_t vocabulary() const override { return common->decoder.vocabulary; }
  int64_t trained_context() const override { return common->decoder.trained_context; }
  int64_t idle_bytes() const override { return common->decoder.experts.idle_bytes; }
  const runtime::Session& session() const override { return *common->session; }
  int64_t cache_bytes() const override { return pool->bytes_each(); }

  std::shared_ptr<Common> common;
  std::shared_ptr<CachePool> pool;
  int64_t cache = 0, place = 0;  // `place`: the position
  std::atomic<bool> reads = false, cancelled = false;
  /// Which of the cache's slots has the states of these tokens, and of how many tokens the other
  /// one has (-1: it is not known). A run reads `from` (-1: none) and writes `to`.
  int64_t slot = 0, other_place = -1, from = -1, to = 0;

  /// The first run of what follows writes the other slot, the next ones the same.
  void Begin();
  /// `before`: the position when it began, to which it goes back where it failed.
  void End(bool succeeded, int64_t before);
  // Callers have spans of the first, which the second becomes where all tokens were read.
  Tensor last_logits, next_logits;

 protected:
  const void* family() const override { return common.get(); }
  Status StepTogether(std::span<SequenceDecoder* const> sequences,
                      std::span<const int32_t> tokens) override;

 private:
  Status ReadAll(std::span<const int32_t> tokens);
  int64_t SlotNumber(int64_t which) const { return cache * gguf::kSlotsOfCache + which; }
};

Result<std::shared_ptr<CachePool>> Common::TakeCache(int64_t* cache) {
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

Status GgufDecoder::TakeCache() {
  ASSIGN_OR_RETURN(pool, common->TakeCache(&cache));
  const Shape shape = {1, 1, common->decoder.vocabulary};
  ASSIGN_OR_RETURN(last_logits, Tensor::Create(DType::kF32, shape));
  ASSIGN_OR_RETURN(next_logits, Tensor::Create(DType::kF32, shape));
  return OkStatus();
}

Status Common::RunHeld(std::span<const Part> parts, CachePool::Run& run) {
  const auto batch = std::ssize(parts);
  for (int64_t b = 0; b < batch; ++b) {
    const Part& part = parts[b];
    const auto count = std::ssize(part.tokens);
    float* const rows = run.hidden.host.as<float>().data() + b * run.length * decoder.width;
    const int64_t first = part.sequence->place;
    // What fills the run up lies behind its tokens: no query sees it, the next run overwrites it.
    ForEachRow(run.length, [&](int64_t i) {
      gguf::EmbeddingRow(*file, decoder, part.tokens[std::min(i, count - 1)], first + i,
                         rows + i * decoder.width);
    });
    if (count > 1) gguf::DropEmbedding(*file);
    run.position.host.as<int64_t>()[b] = first;
    run.last.host.as<int64_t>()[0] = count - 1;
    run.seqlens.host.as<int32_t>()[b] = static_cast<int32_t>(first + run.length - 1);
    run.cache_of.host.as<int32_t>()[b] = static_cast<int32_t>(part.sequence->cache);
    const int64_t steps[] = {part.sequence->from, part.sequence->to, count};
    std::ranges::copy(steps, run.steps.host.as<int32_t>().begin() + 3 * b);
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
  for (const Part& part : parts) {
    part.sequence->place += std::ssize(part.tokens);
    part.sequence->from = part.sequence->to;
  }
  return OkStatus();
}

Status Common::Run(std::span<const Part> parts, int64_t length) {
  const std::lock_guard lock(run_mutex);
  ASSIGN_OR_RETURN(CachePool::Run* const run,
                   parts[0].sequence->pool->RunOf(std::ssize(parts), length));
  return RunHeld(parts, *run);
}

Status GgufDecoder::ReadAll(std::span<const int32_t> tokens) {
  while (!tokens.empty()) {
    if (cancelled) return Error(StatusCode::kCancelled, "cancelled");
    const auto left = std::ssize(tokens);
    const int64_t length = RunLength(left, common->context - place, common->device != nullptr);
    const int64_t taken = std::min<int64_t>(left, length);
    const Part part = {this, tokens.first(taken)};
    RETURN_IF_ERROR(common->Run({&part, 1}, length));
    tokens = tokens.subspan(taken);
  }
  return OkStatus();
}

void GgufDecoder::Begin() {
  from = place == 0 ? -1 : SlotNumber(slot);
  to = SlotNumber(1 - slot);
  cancelled = false;
  reads = true;
}

void GgufDecoder::End(bool succeeded, int64_t before) {
  reads = false;
  other_place = -1;
  if (!succeeded) {
    place = before;
    return;
  }
  std::swap(last_logits, next_logits);
  slot = 1 - slot;
  other_place = before;
}

Status GgufDecoder::Read(std::span<const int32_t> tokens, std::span<const float>* to_logits) {
  RETURN_IF_ERROR(Check(tokens));
  const int64_t before = place;
  Begin();
  const Status status = ReadAll(tokens);
  End(status.ok(), before);
  RETURN_IF_ERROR(status);
  *to_logits = logits();
  return OkStatus();
}

void GgufDecoder::Cancel() {
  if (!reads) return;
  cancelled = true;
  const std::lock_guard lock(common->cancel_mutex);
  for (const Part& part : common->runs) {
    if (part.sequence == this) return common->session->Cancel();
  }
}

/// Sequences of a pool one behind the other, a run for each pool.
Status RunStep(std::span<Part> parts) {
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

Status GgufDecoder::StepTogether(std::span<SequenceDecoder* const> sequences,
                                 std::span<const int32_t> tokens) {
  std::vector<Part> parts;
  std::vector<int64_t> before;
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto* const sequence = static_cast<GgufDecoder*>(sequences[i]);
    parts.push_back({sequence, tokens.subspan(i, 1)});
    before.push_back(sequence->place);
    sequence->Begin();
  }
  const Status status = RunStep(parts);
  for (size_t i = 0; i < sequences.size(); ++i) {
    static_cast<GgufDecoder&>(*sequences[i]).End(status.ok(), before[i]);
  }
  return status;
}

Status GgufDecoder::Rewind(int64_t count) {
  if (count < 0 || count > place)
    return InvalidArgument("{} of {} tokens cannot be kept", count, place);
  if (count == place) return OkStatus();
  if (common->has_states && count > 0 && count != other_place)
    return InvalidArgument(
        "the model has states, which are not kept of {} tokens; those of 0, {} and {} are", count,
        std::max<int64_t>(0, other_place), place);
  if (count == other_place) slot = 1 - slot;
  other_place = -1;
  place = count;
  return OkStatus();
}

Result<std::unique_ptr<SequenceDecoder>> GgufDecoder::Fork() const {
  auto made = std::make_unique<GgufDecoder>(common);
  RETURN_IF_ERROR(made->TakeCache());
  made->place = place;
  ASSIGN_OR_RETURN(const std::vector<Tensor> from, pool->Read(cache));
  ASSIGN_OR_RETURN(std::vector<Tensor> to, made->pool->Read(made->cache));
  for (size_t i = 0; i < to.size(); ++i) CopyRows(from[i], to[i], place);
  RETURN_IF_ERROR(made->pool->Write(to));
  std::vector<std::byte> states(pool->state_bytes());
  RETURN_IF_ERROR(pool->SaveStates(SlotNumber(slot), states));
  RETURN_IF_ERROR(made->pool->RestoreStates(made->SlotNumber(made->slot), states));
  return std::unique_ptr<SequenceDecoder>(std::move(made));
}

Status GgufDecoder::Save(std::span<std::byte> to) const {
  ASSIGN_OR_RETURN(const std::vector<Tensor> caches, pool->Read(cache));
  RETURN_IF_ERROR(pool->SaveStates(SlotNumber(slot), to.last(pool->state_bytes())));
  SaveCaches(caches, place, common->fingerprint, to);
  return OkStatus();
}

Status GgufDecoder::Restore(std::span<const std::byte> saved) {
  ASSIGN_OR_RETURN(std::vector<Tensor> caches, pool->Read(cache));
  const int64_t states = pool->state_bytes();
  ASSIGN_OR_RETURN(const int64_t restored,
                   RestoreCaches(saved, common->fingerprint, common->context, caches, states));
  RETURN_IF_ERROR(pool->Write(caches));
  RETURN_IF_ERROR(pool->RestoreStates(SlotNumber(slot), saved.last(states)));
  other_place = -1;
  place = restored;
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<SequenceDecoder>> SequenceDecoder::Create(
    std::shared_ptr<const gguf::File> file, const DecoderOptions& options) {
  auto common = std::make_shared<Common>();
  common->file = std::move(file);
  const std::string& name = common->file->name();
  auto decoder = gguf::ReadDecoder(*common->file);
  if (!decoder.ok()) return decoder.status().WithContext(name);
  common->decoder = std::move(*decoder);
  common->has_states = common->decoder.has_states();
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
  ASSIGN_OR_RETURN(common->session,
                   runtime::Session::Create(std::move(model), SessionOptionsOf(options)));
  auto made = std::make_unique<GgufDecoder>(std::move(common));
  RETURN_IF_ERROR(made->TakeCache());
  return std::unique_ptr<SequenceDecoder>(std::move(made));
}

}  // namespace fettle::language
