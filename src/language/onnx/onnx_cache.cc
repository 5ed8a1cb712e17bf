#include "language/onnx/onnx_cache.h"

#include <algorithm>

#include "language/run_lengths.h"
#include "language/zero_pages.h"

namespace fettle::language {
namespace {

/// A slot of caches with room for the whole context.
class InPlaceCache final : public OnnxCache {
 public:
  explicit InPlaceCache(std::shared_ptr<OnnxModel> model)
      : OnnxCache(std::move(model)), one_row_(this->model().form.one_row) {}
  ~InPlaceCache() override {
    if (slots_ != nullptr) slots_->Give(slot_);
  }

  Status TakeSlot() {
    OnnxModel& of = model();
    const std::lock_guard lock(of.slots_mutex);
    std::erase_if(of.slots, [](const auto& slots) { return slots.expired(); });
    for (const auto& weak : of.slots) {
      slots_ = weak.lock();
      slot_ = slots_ == nullptr ? -1 : slots_->Take();
      if (slot_ >= 0) return OkStatus();
    }
    slots_ = nullptr;
    ASSIGN_OR_RETURN(slots_, CacheSlots::Create(of.form, of.context, of.sequences, of.device));
    slot_ = slots_->Take();
    of.slots.push_back(slots_);
    return OkStatus();
  }

  int64_t MostTokens(int64_t left, int64_t position) const override {
    return std::min(left, LengthOf(left, position));
  }

  Status Run(std::span<const int32_t> tokens, int64_t position, int64_t all,
             std::span<float> logits) override {
    const CacheSlots::Part part = {slot_, tokens, position, all, logits};
    const int64_t length = LengthOf(std::ssize(tokens), position);
    ASSIGN_OR_RETURN(const bool read, slots_->Run(*model().session, {&part, 1}, length));
    if (read) return OkStatus();
    one_row_ = true;
    return RunExactly(tokens, position, all, logits);
  }

  Status Keep(int64_t) override { return OkStatus(); }
  Result<std::vector<Tensor>> Read() const override { return slots_->Read(slot_); }
  Status Write(const std::vector<Tensor>& caches, int64_t tokens) override {
    return slots_->Write(caches, slot_, tokens);
  }
  CacheSlots* slots() const override { return slots_.get(); }
  int64_t slot() const override { return slot_; }

 private:
  Status RunExactly(std::span<const int32_t> tokens, int64_t position, int64_t all,
                    std::span<float> logits) {
    while (!tokens.empty()) {
      const int64_t taken = MostTokens(std::ssize(tokens), position);
      RETURN_IF_ERROR(Run(tokens.first(taken), position, all, logits));
      position += taken;
      tokens = tokens.subspan(taken);
    }
    return OkStatus();
  }
  int64_t LengthOf(int64_t tokens, int64_t position) const {
    return RunLength(tokens, model().context - position, model().device != nullptr, !one_row_);
  }

  bool one_row_;  // as the form says, or as the first run shows: other threads have own caches
  std::shared_ptr<CacheSlots> slots_;
  int64_t slot_ = -1;
};

/// Caches as each run gives them, which the next one takes.
class GrowingCache final : public OnnxCache {
 public:
  explicit GrowingCache(std::shared_ptr<OnnxModel> model) : OnnxCache(std::move(model)) {}

  Status Empty() {
    ASSIGN_OR_RETURN(caches_, EmptyCaches(model().form, 0));
    return OkStatus();
  }

  int64_t MostTokens(int64_t left, int64_t) const override {
    constexpr int64_t kMostOfRun = 512;
    return std::min(left, kMostOfRun);
  }

  Status Run(std::span<const int32_t> tokens, int64_t position, int64_t,
             std::span<float> logits) override {
    const OnnxForm& form = model().form;
    const auto count = std::ssize(tokens);
    runtime::TensorMap inputs, outputs;
    const auto add = [&](const OnnxInts& ints, const Shape& shape, auto value) -> Status {
      if (ints.name.empty()) return OkStatus();
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(ints.dtype, shape));
      SetInts(tensor, value);
      inputs.emplace(ints.name, std::move(tensor));
      return OkStatus();
    };
    RETURN_IF_ERROR(add(form.ids, Shape{1, count}, [&](int64_t i) { return tokens[i]; }));
    RETURN_IF_ERROR(add(form.mask, Shape{1, position + count}, [](int64_t) { return 1; }));
    RETURN_IF_ERROR(add(form.positions, Shape{1, count}, [&](int64_t i) { return position + i; }));
    const int64_t kept = form.row.name.empty() ? 1 : 0;  // the row is one of all
    RETURN_IF_ERROR(add(form.kept_logits, Shape{}, [&](int64_t) { return kept; }));
    RETURN_IF_ERROR(add(form.row, Shape{1}, [&](int64_t) { return count - 1; }));
    if (!form.cache_branch.empty()) {
      ASSIGN_OR_RETURN(const Tensor flag, Tensor::Create(DType::kBool, Shape{1}));
      *flag.data() = static_cast<std::byte>(position > 0);
      inputs.emplace(form.cache_branch, flag);
    }
    for (size_t i = 0; i < caches_.size(); ++i) inputs.emplace(form.caches[i].past, caches_[i]);
    RETURN_IF_ERROR(model().session->Run(inputs, &outputs));
    const Tensor& made = outputs.at("logits");
    RETURN_IF_ERROR(TakeRow(made, made.shape().rank() == 3 ? made.shape()[1] - 1 : 0, logits));
    return TakeCaches(outputs, position + count);
  }

  Status Keep(int64_t tokens) override {
    if (caches_[0].shape()[2] == tokens) return OkStatus();
    ASSIGN_OR_RETURN(std::vector<Tensor> kept, EmptyCaches(model().form, tokens));
    for (size_t i = 0; i < kept.size(); ++i)
      RETURN_IF_ERROR(CopyTokens(caches_[i], kept[i], tokens));
    caches_ = std::move(kept);
    return OkStatus();
  }

  Result<std::vector<Tensor>> Read() const override { return caches_; }

  Status Write(const std::vector<Tensor>& caches, int64_t tokens) override {
    caches_ = caches;
    return Keep(tokens);
  }

 private:
  Status TakeCaches(const runtime::TensorMap& outputs, int64_t tokens) {
    const OnnxForm& form = model().form;
    std::vector<Tensor> next;
    for (const OnnxCacheForm& cache : form.caches) {
      const Tensor& present = outputs.at(cache.present);
      const Shape expected = {1, cache.heads, tokens, cache.size};
      if (present.shape() != expected || present.dtype() != cache.dtype)
        return InvalidModel("output '{}': expected {} {}, got {} {}", cache.present,
                            DTypeName(cache.dtype), expected.ToString(), DTypeName(present.dtype()),
                            present.shape().ToString());
      next.push_back(present);
    }
    caches_ = std::move(next);
    return OkStatus();
  }

  std::vector<Tensor> caches_;
};

}  // namespace

Result<std::vector<Tensor>> EmptyCaches(const OnnxForm& form, int64_t rows) {
  std::vector<Tensor> caches;
  for (const OnnxCacheForm& cache : form.caches) {
    const Shape shape = {1, cache.heads, rows, cache.size};
    ASSIGN_OR_RETURN(caches.emplace_back(), rows == 0 ? Tensor::Create(cache.dtype, shape)
                                                      : ZeroPages(cache.dtype, shape));
  }
  return caches;
}

int64_t OnnxCache::bytes() const {
  int64_t bytes = 0;
  for (const OnnxCacheForm& cache : model_->form.caches)
    bytes += StorageBytes(cache.dtype, cache.heads * model_->context * cache.size);
  return bytes;
}

Result<std::unique_ptr<OnnxCache>> OnnxCache::Create(std::shared_ptr<OnnxModel> model) {
  if (model->form.in_place) {
    auto made = std::make_unique<InPlaceCache>(std::move(model));
    RETURN_IF_ERROR(made->TakeSlot());
    return std::unique_ptr<OnnxCache>(std::move(made));
  }
  auto made = std::make_unique<GrowingCache>(std::move(model));
  RETURN_IF_ERROR(made->Empty());
  return std::unique_ptr<OnnxCache>(std::move(made));
}

}  // namespace fettle::language
