#include "language/damage_meter.h"

#include <algorithm>
#include <cmath>

#include "exec/packed_store.h"
#include "runtime/model.h"

namespace fettle::language {
namespace {

constexpr int64_t kWindow = 256;

/// The logarithm of the sum of exponentials.
double LogSum(std::span<const float> logits) {
  const float most = *std::ranges::max_element(logits);
  double sum = 0;
  for (float logit : logits) sum += static_cast<double>(std::exp(logit - most));
  return std::log(sum) + static_cast<double>(most);
}

}  // namespace

Result<std::unique_ptr<DamageMeter>> DamageMeter::Create(std::shared_ptr<const gguf::File> file,
                                                         std::span<const int32_t> tokens,
                                                         int threads,
                                                         const std::atomic<bool>* cancelled) {
  auto meter = std::make_unique<DamageMeter>();
  ASSIGN_OR_RETURN(meter->decoder_, gguf::ReadDecoder(*file));
  meter->threads_ = threads;
  meter->cancelled_ = cancelled;
  meter->window_ = std::min({kWindow, meter->decoder_.trained_context, std::ssize(tokens)});
  if (meter->window_ < 2) return InvalidArgument("a text of at least 2 tokens is needed");
  for (int64_t at = 0; at + meter->window_ <= std::ssize(tokens); at += meter->window_) {
    const auto part = tokens.subspan(at, meter->window_);
    meter->windows_.push_back({{part.begin(), part.end()}, {}, 0});
  }
  ASSIGN_OR_RETURN(meter->session_, meter->Open(file));
  RETURN_IF_ERROR(meter->ReadUnchanged(*file));
  return meter;
}

Result<std::unique_ptr<runtime::Session>> DamageMeter::Open(
    const std::shared_ptr<const gguf::File>& file) const {
  ASSIGN_OR_RETURN(ir::Graph graph, gguf::BuildDecoder(file, decoder_, window_, {true, true}));
  ASSIGN_OR_RETURN(auto model, runtime::Model::FromGraph(std::move(graph), file->name()));
  if (session_ != nullptr) {
    for (exec::PackedStore::Entry& entry : session_->model().packed().Living()) {
      const auto blob = std::move(entry.blob);
      model->packed().Provide(
          entry.key, [blob]() -> Result<std::shared_ptr<const exec::PackedBlob>> { return blob; });
    }
  }
  runtime::SessionOptions options;
  options.threads = threads_;
  options.cancelled = cancelled_;
  return runtime::Session::Create(std::move(model), options);
}

/// Each window begins with none.
Status DamageMeter::AddStates(runtime::TensorMap& inputs) const {
  if (!decoder_.has_states()) return OkStatus();
  const std::vector<int32_t> steps = {-1, 0, static_cast<int32_t>(window_)};
  ASSIGN_OR_RETURN(Tensor all_steps, Tensor::FromVector(Shape{1, 3}, steps));
  inputs.emplace("steps", std::move(all_steps));
  for (int64_t layer = 0; layer < decoder_.layers; ++layer) {
    for (const gguf::KeptState& state : decoder_.StatesOf(layer)) {
      ASSIGN_OR_RETURN(Tensor past, Tensor::Create(DType::kF32, state.OfCaches(1)));
      std::ranges::fill(past.bytes(), std::byte{0});
      inputs.emplace(fmt::format("past_{}.{}", state.name, layer), std::move(past));
    }
  }
  return OkStatus();
}

Result<Tensor> DamageMeter::Logits(const gguf::File& file, const Window& window,
                                   runtime::Session& session) const {
  runtime::TensorMap inputs, outputs;
  ASSIGN_OR_RETURN(Tensor hidden, Tensor::Create(DType::kF32, Shape{1, window_, decoder_.width}));
  for (int64_t i = 0; i < window_; ++i)
    gguf::EmbeddingRow(file, decoder_, window.tokens[i], i,
                       hidden.as<float>().data() + i * decoder_.width);
  inputs.emplace("hidden", std::move(hidden));
  ASSIGN_OR_RETURN(Tensor position, Tensor::FromVector(Shape{1}, std::vector<int64_t>{0}));
  inputs.emplace("position", std::move(position));
  const std::vector<int32_t> length = {static_cast<int32_t>(window_ - 1)};
  ASSIGN_OR_RETURN(Tensor seqlens, Tensor::FromVector(Shape{1}, length));
  inputs.emplace("seqlens", std::move(seqlens));
  RETURN_IF_ERROR(AddStates(inputs));
  for (int64_t layer = 0; layer < decoder_.layers; ++layer) {
    if (!decoder_.forms[layer].attends) continue;
    for (const auto& [name, size] :
         {std::pair("key", decoder_.head_size), std::pair("value", decoder_.value_size)}) {
      ASSIGN_OR_RETURN(Tensor past,
                       Tensor::Create(DType::kF16, Shape{1, decoder_.kv_heads, window_, size}));
      std::ranges::fill(past.bytes(), std::byte{0});
      inputs.emplace(fmt::format("past_{}.{}", name, layer), std::move(past));
    }
  }
  RETURN_IF_ERROR(session.Run(inputs, &outputs));
  return outputs.at("logits");
}

Status DamageMeter::ReadUnchanged(const gguf::File& file) {
  const int64_t vocabulary = decoder_.vocabulary;
  double surprise = 0;
  for (Window& window : windows_) {
    ASSIGN_OR_RETURN(const Tensor logits, Logits(file, window, *session_));
    const std::span<const float> all = logits.as<float>();
    window.probabilities.resize(all.size());
    for (int64_t i = 0; i < window_; ++i) {
      const auto row = all.subspan(i * vocabulary, vocabulary);
      const double log_sum = LogSum(row);
      for (int64_t j = 0; j < vocabulary; ++j) {
        const double log_p = static_cast<double>(row[j]) - log_sum;
        const auto p = static_cast<float>(std::exp(log_p));
        window.probabilities[i * vocabulary + j] = p;
        window.self += static_cast<double>(p) * log_p;
      }
      if (i + 1 < window_) surprise += log_sum - static_cast<double>(row[window.tokens[i + 1]]);
    }
  }
  perplexity_ = std::exp(surprise / static_cast<double>((window_ - 1) * std::ssize(windows_)));
  if (!std::isfinite(perplexity_)) return InvalidModel("the model's answers are not finite");
  return OkStatus();
}

Result<Damage> DamageMeter::Measure(const std::shared_ptr<const gguf::File>& changed) const {
  ASSIGN_OR_RETURN(const auto session, Open(changed));
  const int64_t vocabulary = decoder_.vocabulary;
  double surprise = 0, divergence = 0;
  for (const Window& window : windows_) {
    ASSIGN_OR_RETURN(const Tensor logits, Logits(*changed, window, *session));
    const std::span<const float> all = logits.as<float>();
    divergence += window.self;
    for (int64_t i = 0; i < window_; ++i) {
      const auto row = all.subspan(i * vocabulary, vocabulary);
      const float* p = window.probabilities.data() + i * vocabulary;
      const double log_sum = LogSum(row);
      double crossed = 0, sum = 0;
      for (int64_t j = 0; j < vocabulary; ++j) {
        crossed += static_cast<double>(p[j]) * static_cast<double>(row[j]);
        sum += static_cast<double>(p[j]);
      }
      divergence += log_sum * sum - crossed;
      if (i + 1 < window_) surprise += log_sum - static_cast<double>(row[window.tokens[i + 1]]);
    }
  }
  const double rows = static_cast<double>(tokens());
  Damage damage;
  damage.divergence = std::max(0.0, divergence / rows);
  damage.perplexity =
      std::exp(surprise / static_cast<double>((window_ - 1) * std::ssize(windows_)));
  if (!std::isfinite(divergence)) damage.divergence = HUGE_VAL;
  return damage;
}

}  // namespace fettle::language
