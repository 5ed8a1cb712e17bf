#include "language/generator.h"

#include <algorithm>

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

struct SequenceDecoder::Impl {
  std::shared_ptr<const gguf::File> file;
  gguf::Decoder decoder;
  int64_t context = 0, position = 0, cache_bytes = 0;
  std::unique_ptr<runtime::Session> session;
  Tensor position_of, last, seqlens, logits;
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
  Status Run(std::span<const int32_t> tokens, Inputs& of);
};

Status SequenceDecoder::Impl::AddCache(const std::string& name, int64_t size,
                                       runtime::BufferMap& pasts) {
  ASSIGN_OR_RETURN(const Tensor cache,
                   Tensor::Create(DType::kF32, Shape{1, decoder.kv_heads, context, size}));
  cache_bytes += static_cast<int64_t>(cache.bytes().size());
  // Two buffers over one memory: the run reads the past and writes the present there.
  pasts.emplace("past_" + name, Buffer(cache));
  outputs.emplace("present_" + name, Buffer(cache));
  return OkStatus();
}

Status SequenceDecoder::Impl::MakeTensors() {
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
    gguf::EmbeddingRow(*file, decoder, tokens[std::min(i, count - 1)],
                       of.hidden.as<float>().data() + i * decoder.width);
  }
  position_of.as<int64_t>()[0] = position;
  last.as<int64_t>()[0] = count - 1;
  seqlens.as<int32_t>()[0] = static_cast<int32_t>(position + of.length - 1);
  RETURN_IF_ERROR(session->RunOn(of.inputs, outputs, &results));
  position += count;
  return OkStatus();
}

SequenceDecoder::SequenceDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SequenceDecoder::~SequenceDecoder() = default;

Result<std::unique_ptr<SequenceDecoder>> SequenceDecoder::Create(
    std::shared_ptr<const gguf::File> file, const DecoderOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->file = std::move(file);
  const std::string& name = impl->file->name();
  auto decoder = gguf::ReadDecoder(*impl->file);
  if (!decoder.ok()) return decoder.status().WithContext(name);
  impl->decoder = std::move(*decoder);
  impl->context = options.context > 0 ? options.context
                                      : std::min(kDefaultContext, impl->decoder.trained_context);
  auto graph = gguf::BuildDecoder(impl->file, impl->decoder, impl->context);
  if (!graph.ok()) return graph.status().WithContext(name);
  ASSIGN_OR_RETURN(auto model, runtime::Model::FromGraph(std::move(*graph), name));
  runtime::SessionOptions session;
  session.threads = options.threads;
  session.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(impl->session, runtime::Session::Create(std::move(model), session));
  RETURN_IF_ERROR(impl->MakeTensors());
  return std::unique_ptr<SequenceDecoder>(new SequenceDecoder(std::move(impl)));
}

Status SequenceDecoder::Read(std::span<const int32_t> tokens, std::span<const float>* logits) {
  Impl& of = *impl_;
  const auto count = std::ssize(tokens);
  if (count == 0) return InvalidArgument("there are no tokens to read");
  if (count > of.context - of.position)
    return InvalidArgument("{} tokens behind {} pass the context of {}", count, of.position,
                           of.context);
  for (int32_t token : tokens) {
    if (token < 0 || token >= of.decoder.vocabulary)
      return InvalidArgument("token {} lies outside the vocabulary of {}", token,
                             of.decoder.vocabulary);
  }
  while (!tokens.empty()) {
    const auto left = std::ssize(tokens);
    // A run is filled up where that takes no more than twice as long, and the context has room.
    const auto fits = [&](const Impl::Inputs& inputs) {
      const int64_t length = inputs.length;
      return length <= of.context - of.position && (left >= length || left * 2 > length);
    };
    const auto found = std::ranges::find_if(of.lengths, fits);
    const int64_t taken = std::min<int64_t>(left, found->length);
    RETURN_IF_ERROR(of.Run(tokens.first(taken), *found));
    tokens = tokens.subspan(taken);
  }
  *logits = of.logits.as<float>();
  return OkStatus();
}

Status SequenceDecoder::Rewind(int64_t count) {
  if (count < 0 || count > impl_->position)
    return InvalidArgument("{} of {} tokens cannot be kept", count, impl_->position);
  impl_->position = count;
  return OkStatus();
}

int64_t SequenceDecoder::position() const { return impl_->position; }
int64_t SequenceDecoder::context() const { return impl_->context; }
const gguf::Decoder& SequenceDecoder::decoder() const { return impl_->decoder; }
const runtime::Session& SequenceDecoder::session() const { return *impl_->session; }
int64_t SequenceDecoder::cache_bytes() const { return impl_->cache_bytes; }

}  // namespace fettle::language
