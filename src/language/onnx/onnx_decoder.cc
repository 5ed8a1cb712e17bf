#include "language/onnx/onnx_decoder.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "importers/onnx/importer.h"
#include "importers/onnx/model_edit.h"
#include "language/onnx/in_place_caches.h"
#include "language/onnx/last_row.h"
#include "language/onnx/onnx_cache.h"
#include "language/onnx/shared_caches.h"
#include "language/run_lengths.h"
#include "language/saved_cache.h"
#include "runtime/model.h"

namespace fettle::language {
namespace {

/// Of the constants' names, types, shapes and first bytes.
uint64_t FingerprintOf(const ir::Graph& graph) {
  uint64_t hash = 0;
  for (const ir::Value& value : graph.values()) {
    if (!value.is_constant()) continue;
    hash = HashText(value.name, hash);
    hash = HashText(value.constant->shape().ToString(), hash);
    const auto bytes = value.constant->bytes();
    hash = HashBytes(bytes.first(std::min<size_t>(bytes.size(), 256)), hash);
  }
  return hash;
}

/// Nodes of the file whose caches hold a window of tokens alone ('sliding_window_cache').
std::vector<size_t> WindowedNodes(const ir::Graph& graph) {
  std::vector<size_t> found;
  for (const ir::Node& node : graph.nodes()) {
    if (node.source_op == "GroupQueryAttention" && node.op->name == "GatherND")
      found.push_back(static_cast<size_t>(node.source_index));
  }
  return found;
}

/// Caches of all tokens in the place of windows: attention sees as many of them, and tokens can be
/// forgotten.
Result<ir::Graph> ImportDecoder(const std::string& path) {
  ASSIGN_OR_RETURN(ir::Graph graph, onnx::ImportFile(path));
  onnx::ModelEdit edit;
  for (size_t node : WindowedNodes(graph))
    edit.nodes[node].dropped_attributes.insert("sliding_window_cache");
  if (edit.nodes.empty()) return graph;
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::span<const std::byte> bytes = file->bytes();
  ASSIGN_OR_RETURN(
      std::string edited,
      onnx::ApplyEdit({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, edit));
  const auto owner = std::make_shared<const std::string>(std::move(edited));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return onnx::ImportBytes(std::as_bytes(std::span(*owner)), owner, path,
                           folder.empty() ? "." : folder);
}

class OnnxDecoder final : public SequenceDecoder {
 public:
  explicit OnnxDecoder(std::shared_ptr<OnnxModel> model) : model_(std::move(model)) {}

  Status Make() {
    ASSIGN_OR_RETURN(cache_, OnnxCache::Create(model_));
    logits_.resize(model_->form.vocabulary);
    next_logits_.resize(model_->form.vocabulary);
    return OkStatus();
  }

  Status Read(std::span<const int32_t> tokens, std::span<const float>* logits) override {
    RETURN_IF_ERROR(Check(tokens));
    const int64_t before = position_;
    cancelled_ = false;
    reads_ = true;
    const Status status = ReadAll(tokens);
    reads_ = false;
    if (!status.ok()) {
      position_ = before;
      RETURN_IF_ERROR(cache_->Keep(before));
      return status;
    }
    std::swap(logits_, next_logits_);
    *logits = logits_;
    return OkStatus();
  }

  std::span<const float> logits() const override { return logits_; }

  Status Rewind(int64_t count) override {
    if (count < 0 || count > position_)
      return InvalidArgument("{} of {} tokens cannot be kept", count, position_);
    RETURN_IF_ERROR(cache_->Keep(count));
    position_ = count;
    return OkStatus();
  }

  void Cancel() override {
    if (!reads_) return;
    cancelled_ = true;
    if (runs_) model_->session->Cancel();
  }

  Result<std::unique_ptr<SequenceDecoder>> Fork() const override {
    auto made = std::make_unique<OnnxDecoder>(model_);
    RETURN_IF_ERROR(made->Make());
    ASSIGN_OR_RETURN(const std::vector<Tensor> caches, cache_->Read());
    RETURN_IF_ERROR(made->cache_->Write(caches, position_));
    made->position_ = position_;
    return std::unique_ptr<SequenceDecoder>(std::move(made));
  }

  int64_t saved_bytes() const override {
    const auto caches = cache_->Read();
    return caches.ok() ? SavedBytes(*caches, position_) : 0;
  }

  Status Save(std::span<std::byte> to) const override {
    ASSIGN_OR_RETURN(const std::vector<Tensor> caches, cache_->Read());
    SaveCaches(caches, position_, model_->fingerprint, to);
    return OkStatus();
  }

  Status Restore(std::span<const std::byte> saved) override {
    ASSIGN_OR_RETURN(std::vector<Tensor> caches, EmptyCaches(model_->form, model_->context));
    ASSIGN_OR_RETURN(const int64_t restored,
                     RestoreCaches(saved, model_->fingerprint, caches[0].shape()[2], caches));
    RETURN_IF_ERROR(cache_->Write(caches, restored));
    position_ = restored;
    return OkStatus();
  }

  int64_t position() const override { return position_; }
  int64_t context() const override { return model_->context; }
  int64_t vocabulary() const override { return model_->form.vocabulary; }
  int64_t trained_context() const override { return model_->trained_context; }
  const runtime::Session& session() const override { return *model_->session; }
  int64_t cache_bytes() const override { return cache_->bytes(); }
  bool cache_in_place() const override { return model_->form.in_place; }

 protected:
  const void* family() const override { return model_.get(); }
  Status StepTogether(std::span<SequenceDecoder* const> sequences,
                      std::span<const int32_t> tokens) override;

 private:
  using Parts = std::vector<std::pair<OnnxDecoder*, CacheSlots::Part>>;
  Status RunStep(Parts& parts);
  Status ReadAll(std::span<const int32_t> tokens) {
    const int64_t all = position_ + std::ssize(tokens);
    while (!tokens.empty()) {
      if (cancelled_) return Error(StatusCode::kCancelled, "cancelled");
      const int64_t taken = cache_->MostTokens(std::ssize(tokens), position_);
      const std::lock_guard lock(model_->run_mutex);
      runs_ = true;
      const Status status = cache_->Run(tokens.first(taken), position_, all, next_logits_);
      runs_ = false;
      RETURN_IF_ERROR(status);
      position_ += taken;
      tokens = tokens.subspan(taken);
    }
    return OkStatus();
  }

  std::shared_ptr<OnnxModel> model_;
  std::unique_ptr<OnnxCache> cache_;
  int64_t position_ = 0;
  std::atomic<bool> reads_ = false, runs_ = false, cancelled_ = false;
  // Callers have spans of the first, which the second becomes where all tokens were read.
  std::vector<float> logits_, next_logits_;
};

/// Sequences whose caches lie together in a run, one run for each memory.
Status OnnxDecoder::RunStep(Parts& parts) {
  const auto memory = [](const auto& part) { return part.first->cache_->slots(); };
  std::ranges::stable_sort(parts, std::less<>(), memory);
  for (auto begin = parts.begin(); begin != parts.end();) {
    const auto end = std::find_if(begin, parts.end(),
                                  [&](const auto& part) { return memory(part) != memory(*begin); });
    std::vector<CacheSlots::Part> run;
    for (auto at = begin; at != end; ++at) {
      if (at->first->cancelled_) return Error(StatusCode::kCancelled, "cancelled");
      run.push_back(at->second);
    }
    const std::lock_guard lock(model_->run_mutex);
    for (auto at = begin; at != end; ++at) at->first->runs_ = true;
    const auto status = memory(*begin)->Run(*model_->session, run, 1).status();
    for (auto at = begin; at != end; ++at) at->first->runs_ = false;
    RETURN_IF_ERROR(status);
    begin = end;
  }
  return OkStatus();
}

Status OnnxDecoder::StepTogether(std::span<SequenceDecoder* const> sequences,
                                 std::span<const int32_t> tokens) {
  if (model_->sequences == 1) return SequenceDecoder::StepTogether(sequences, tokens);
  Parts parts;
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto& sequence = static_cast<OnnxDecoder&>(*sequences[i]);
    sequence.cancelled_ = false;
    sequence.reads_ = true;
    const int64_t place = sequence.position_;
    parts.push_back(
        {&sequence,
         {sequence.cache_->slot(), tokens.subspan(i, 1), place, place + 1, sequence.next_logits_}});
  }
  const Status status = RunStep(parts);
  for (const auto& [sequence, part] : parts) {
    sequence->reads_ = false;
    if (!status.ok()) continue;
    ++sequence->position_;
    std::swap(sequence->logits_, sequence->next_logits_);
  }
  return status;
}

}  // namespace

Result<std::unique_ptr<SequenceDecoder>> OpenOnnxDecoder(const std::string& path,
                                                         const OnnxFacts& facts,
                                                         const DecoderOptions& options) {
  if (options.cache == DType::kI8)
    return InvalidArgument("{}: the type of an ONNX model's cache is the file's, and not bytes",
                           path);
  ASSIGN_OR_RETURN(ir::Graph graph, ImportDecoder(path));
  auto model = std::make_shared<OnnxModel>();
  auto form = ReadOnnxForm(graph, facts);
  if (!form.ok()) return form.status().WithContext(path);
  model->form = std::move(*form);
  model->fingerprint = FingerprintOf(graph);
  model->trained_context = facts.trained_context > 0 ? facts.trained_context : kDefaultContext;
  model->context =
      options.context > 0 ? options.context : std::min(kDefaultContext, model->trained_context);
  model->device = options.device;
  RETURN_IF_ERROR(KeepCachesInPlace(graph, model->form, model->context).WithContext(path));
  RETURN_IF_ERROR(PickLastRow(graph, model->form).WithContext(path));
  if (options.sequences > 1 && options.device == nullptr)
    RETURN_IF_ERROR(ShareCaches(graph, model->form, model->context, options.sequences));
  if (!model->form.cache_of.name.empty()) model->sequences = options.sequences;
  ASSIGN_OR_RETURN(auto loaded, runtime::Model::FromGraph(std::move(graph), path));
  ASSIGN_OR_RETURN(model->session,
                   runtime::Session::Create(std::move(loaded), SessionOptionsOf(options)));
  auto made = std::make_unique<OnnxDecoder>(std::move(model));
  RETURN_IF_ERROR(made->Make());
  return std::unique_ptr<SequenceDecoder>(std::move(made));
}

}  // namespace fettle::language
