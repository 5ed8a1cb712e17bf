#include "language/generator.h"

#include <algorithm>
#include <mutex>

#include "language/saved_cache.h"
#include "runtime/model.h"
#include "runtime/tensor_buffer.h"

namespace fettle::language {
namespace {

/// Tokens of a prompt that are read in one run: as many as are left of this list's first that fits,
/// the last one filled up. Each length is planned once.
constexpr int64_t kRunLengths[] = {128, 32, 8, 1};
constexpr int64_t kDefaultContext = 4096;

std::shared_ptr<runtime::TensorBuffer> Buffer(const Tensor& tensor) {
  return std::make_shared<runtime::TensorBuffer>(tensor, true);
}

}  // namespace

/// What sequences of one model have together.
struct SequenceDecoder::Common {
  std::shared_ptr<const gguf::File> file;
  gguf::Decoder decoder;
  uint64_t fingerprint = 0;
  int64_t context = 0;
  std::mutex run_mutex;  // a session belongs to one thread at a time
  std::unique_ptr<runtime::Session> session;
  std::mutex cancel_mutex;
  const Impl* runs = nullptr;  // the sequence whose run is in progress
};

struct SequenceDecoder::Impl {
  explicit Impl(std::shared_ptr<Common> shared) : common(std::move(shared)) {}

  std::shared_ptr<Common> common;
  int64_t position = 0, cache_bytes = 0;
  std::atomic<bool> reads = false, cancelled = false;
  Tensor position_of, last, seqlens, logits;
  std::vector<Tensor> caches;  // keys and values of each layer
  /// The tensors of a run of one length.
  struct Inputs {
    int64_t length = 0;
    Tensor hidden;
    runtime::BufferMap inputs;
  };
  std::vector<Inputs> lengths;
  runtime::BufferMap outputs;
  runtime::TensorMap results;

  Status MakeTensors();
  Status AddCache(const std::string& name, int64_t size, runtime::BufferMap& pasts);
  Status Check(std::span<const int32_t> tokens) const;
  Status Read(std::span<const int32_t> tokens);
  Status Run(std::span<const int32_t> tokens, Inputs& of);
  void Mark(const Impl* runs) const {
    const std::lock_guard lock(common->cancel_mutex);
    common->runs = runs;
  }
};

Status SequenceDecoder::Impl::AddCache(const std::string& name, int64_t size,
                                       runtime::BufferMap& pasts) {
  ASSIGN_OR_RETURN(Tensor cache, Tensor::Create(DType::kF16, Shape{1, common->decoder.kv_heads,
                                                                   common->context, size}));
  cache_bytes += static_cast<int64_t>(cache.bytes().size());
  // Two buffers over one memory: the run reads the past and writes the present there.
  pasts.emplace("past_" + name, Buffer(cache));
  outputs.emplace("present_" + name, Buffer(cache));
  caches.push_back(std::move(cache));
  return OkStatus();
}

Status SequenceDecoder::Impl::MakeTensors() {
  const gguf::Decoder& decoder = common->decoder;
  ASSIGN_OR_RETURN(position_of, Tensor::Create(DType::kI64, Shape{1}));
  ASSIGN_OR_RETURN(last, Tensor::Create(DType::kI64, Shape{1}));
  ASSIGN_OR_RETURN(seqlens, Tensor::Create(DType::kI32, Shape{1}));
  ASSIGN_OR_RETURN(logits, Tensor::Create(DType::kF32, Shape{1, 1, decoder.vocabulary}));
  outputs.emplace("logits", Buffer(logits));
  runtime::BufferMap shared = {
      {"position", Buffer(position_of)}, {"last", Buffer(last)}, {"seqlens", Buffer(seqlens)}};
  for (int64_t layer = 0; layer < decoder.layers; ++layer) {
    RETURN_IF_ERROR(AddCache(fmt::format("key.{}", layer), decoder.head_size, shared));
    RETURN_IF_ERROR(AddCache(fmt::format("value.{}", layer), decoder.value_size, shared));
  }
  for (int64_t length : kRunLengths) {
    Inputs of;
    of.length = length;
    ASSIGN_OR_RETURN(of.hidden, Tensor::Create(DType::kF32, Shape{1, length, decoder.width}));
    of.inputs = shared;
    of.inputs.emplace("hidden", Buffer(of.hidden));
    lengths.push_back(std::move(of));
  }
  return OkStatus();
}

Status SequenceDecoder::Impl::Run(std::span<const int32_t> tokens, Inputs& of) {
  const auto count = std::ssize(tokens);
  for (int64_t i = 0; i < of.length; ++i) {
    // What fills the run up lies behind its tokens: no query sees it, and the next run overwrites
    // it.
    gguf::EmbeddingRow(*common->file, common->decoder, tokens[std::min(i, count - 1)],
                       of.hidden.as<float>().data() + i * common->decoder.width);
  }
  position_of.as<int64_t>()[0] = position;
  last.as<int64_t>()[0] = count - 1;
  seqlens.as<int32_t>()[0] = static_cast<int32_t>(position + of.length - 1);
  const std::lock_guard lock(common->run_mutex);
  Mark(this);
  const Status status = common->session->RunOn(of.inputs, outputs, &results);
  Mark(nullptr);
  RETURN_IF_ERROR(status);
  position += count;
  return OkStatus();
}

Status SequenceDecoder::Impl::Check(std::span<const int32_t> tokens) const {
  const auto count = std::ssize(tokens);
  if (count == 0) return InvalidArgument("no tokens to read");
  if (count > common->context - position)
    return InvalidArgument("{} tokens behind {} pass the context of {}", count, position,
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
    // A run is filled up where that takes no more than twice as long, and the context has room.
    const auto fits = [&](const Inputs& inputs) {
      const int64_t length = inputs.length;
      return length <= common->context - position && (left >= length || left * 2 > length);
    };
    const auto found = std::ranges::find_if(lengths, fits);
    const int64_t taken = std::min<int64_t>(left, found->length);
    RETURN_IF_ERROR(Run(tokens.first(taken), *found));
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
  auto graph = gguf::BuildDecoder(common->file, common->decoder, common->context);
  if (!graph.ok()) return graph.status().WithContext(name);
  ASSIGN_OR_RETURN(auto model, runtime::Model::FromGraph(std::move(*graph), name));
  runtime::SessionOptions session;
  session.threads = options.threads;
  session.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(common->session, runtime::Session::Create(std::move(model), session));
  auto impl = std::make_unique<Impl>(std::move(common));
  RETURN_IF_ERROR(impl->MakeTensors());
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
  *logits = of.logits.as<float>();
  return OkStatus();
}

void SequenceDecoder::Cancel() {
  if (!impl_->reads) return;
  impl_->cancelled = true;
  const std::lock_guard lock(impl_->common->cancel_mutex);
  if (impl_->common->runs == impl_.get()) impl_->common->session->Cancel();
}

Status SequenceDecoder::Rewind(int64_t count) {
  if (count < 0 || count > impl_->position)
    return InvalidArgument("{} of {} tokens cannot be kept", count, impl_->position);
  impl_->position = count;
  return OkStatus();
}

Result<std::unique_ptr<SequenceDecoder>> SequenceDecoder::Fork() const {
  auto impl = std::make_unique<Impl>(impl_->common);
  RETURN_IF_ERROR(impl->MakeTensors());
  impl->position = impl_->position;
  for (size_t i = 0; i < impl->caches.size(); ++i)
    CopyRows(impl_->caches[i], impl->caches[i], impl_->position);
  return std::unique_ptr<SequenceDecoder>(new SequenceDecoder(std::move(impl)));
}

int64_t SequenceDecoder::saved_bytes() const { return SavedBytes(impl_->caches, impl_->position); }

void SequenceDecoder::Save(std::span<std::byte> to) const {
  SaveCaches(impl_->caches, impl_->position, impl_->common->fingerprint, to);
}

Status SequenceDecoder::Restore(std::span<const std::byte> saved) {
  ASSIGN_OR_RETURN(impl_->position,
                   RestoreCaches(saved, impl_->common->fingerprint, impl_->caches));
  return OkStatus();
}

int64_t SequenceDecoder::position() const { return impl_->position; }
int64_t SequenceDecoder::context() const { return impl_->common->context; }
const gguf::Decoder& SequenceDecoder::decoder() const { return impl_->common->decoder; }
const runtime::Session& SequenceDecoder::session() const { return *impl_->common->session; }
int64_t SequenceDecoder::cache_bytes() const { return impl_->cache_bytes; }

}  // namespace fettle::language
