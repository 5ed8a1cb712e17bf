#include "language/onnx/onnx_cache.h"

#include <algorithm>
#include <cstring>

#include "language/run_lengths.h"
#include "language/zero_pages.h"

namespace fettle::language {
namespace {

/// Sets integers of either type to f(i).
template <typename F>
void SetInts(Tensor& to, F f) {
  const HostView view = to.view();
  for (int64_t i = 0; i < to.elements(); ++i) view.SetInt(i, f(i));
}

/// Row `row` of logits [1, rows, vocabulary], as floats.
Status TakeRow(const Tensor& logits, int64_t row, std::span<float> to) {
  const auto size = std::ssize(to);
  if (logits.shape().rank() != 3 || row < 0 || row >= logits.shape()[1] ||
      logits.shape()[2] != size)
    return InvalidModel("output 'logits': {} for a vocabulary of {}", logits.shape().ToString(),
                        size);
  if (logits.dtype() == DType::kF32) {
    std::copy_n(logits.as<float>().data() + row * size, size, to.data());
    return OkStatus();
  }
  const HostView view = logits.view();
  for (int64_t i = 0; i < size; ++i) to[i] = static_cast<float>(view.GetDouble(row * size + i));
  return OkStatus();
}

/// One memory for past and present, with room for the whole context.
class InPlaceCache final : public OnnxCache {
 public:
  explicit InPlaceCache(std::shared_ptr<OnnxModel> model)
      : OnnxCache(std::move(model)), one_row_(this->model().form.one_row) {}

  Status Allocate() {
    for (const OnnxCacheForm& cache : model().form.caches) {
      const Shape shape = {1, cache.heads, model().context, cache.size};
      ASSIGN_OR_RETURN(CacheBuffers made, MakeCache(model().device, cache.dtype, shape));
      pasts_.emplace(cache.past, made.past);
      presents_.emplace(cache.present, std::move(made.present));
      buffers_.push_back(std::move(made.past));
    }
    return OkStatus();
  }

  int64_t MostTokens(int64_t left, int64_t position) const override {
    return std::min(left, LengthOf(left, position));
  }

  Status Run(std::span<const int32_t> tokens, int64_t position, int64_t all,
             std::span<float> logits) override {
    const auto count = std::ssize(tokens);
    const int64_t length = LengthOf(count, position);
    ASSIGN_OR_RETURN(Step* const step, StepOf(length));
    // What fills the run up lies behind its tokens: no query sees it, the next run overwrites it.
    SetInts(step->ids.host, [&](int64_t i) { return tokens[std::min(i, count - 1)]; });
    const auto is_given = [](const OnnxInts& ints) { return !ints.name.empty(); };
    const OnnxForm& form = model().form;
    if (is_given(form.mask))
      SetInts(step->mask.host, [&](int64_t i) { return i < position + length ? 1 : 0; });
    if (is_given(form.last))
      SetInts(step->last.host, [&](int64_t) { return position + length - 1; });
    if (is_given(form.all)) SetInts(step->all.host, [&](int64_t) { return all; });
    if (is_given(form.positions))
      SetInts(step->positions.host, [&](int64_t i) { return position + i; });
    if (picks_row()) SetInts(step->row.host, [&](int64_t) { return count - 1; });
    for (BoundTensor* input : step->given) RETURN_IF_ERROR(input->Send());
    runtime::TensorMap others;
    RETURN_IF_ERROR(model().session->RunOn(step->inputs, step->outputs, &others));
    const auto made = others.find("logits");
    if (made == others.end()) return Error(StatusCode::kInternal, "there are no logits");
    const bool last_alone = made->second.shape().rank() == 3 && made->second.shape()[1] == 1;
    if (last_alone && length > count && !picks_row()) {  // that of what filled the run up
      one_row_ = true;
      return RunExactly(tokens, position, all, logits);
    }
    return TakeRow(made->second, last_alone ? 0 : count - 1, logits);
  }

  Status Keep(int64_t) override { return OkStatus(); }

  Result<std::vector<Tensor>> Read() const override {
    std::vector<Tensor> all;
    for (const SharedBuffer& buffer : buffers_) {
      if (buffer->device() == nullptr) {
        all.push_back(buffer->host());
      } else {
        ASSIGN_OR_RETURN(all.emplace_back(), buffer->ReadToHost());
      }
    }
    return all;
  }

  Status Write(const std::vector<Tensor>& caches, int64_t tokens) override {
    for (size_t i = 0; i < caches.size(); ++i) {
      if (buffers_[i]->device() != nullptr) {
        RETURN_IF_ERROR(buffers_[i]->WriteFromHost(caches[i]));
        continue;
      }
      Tensor own = buffers_[i]->host();
      RETURN_IF_ERROR(CopyTokens(caches[i], own, tokens));
    }
    return OkStatus();
  }

 private:
  /// What runs of one length read and write.
  struct Step {
    int64_t length = 0;
    BoundTensor ids, mask, last, all, positions, kept, row;
    std::vector<BoundTensor*> given;
    runtime::BufferMap inputs, outputs;
  };
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
  bool picks_row() const { return !model().form.row.name.empty(); }

  Result<Step*> StepOf(int64_t length) {
    for (const auto& step : steps_)
      if (step->length == length) return step.get();
    const OnnxForm& form = model().form;
    auto step = std::make_unique<Step>();
    step->length = length;
    step->inputs = pasts_;
    step->outputs = presents_;
    const auto add = [&](const OnnxInts& ints, const Shape& shape, BoundTensor& to) -> Status {
      if (ints.name.empty()) return OkStatus();
      ASSIGN_OR_RETURN(to, BoundTensor::Create(model().device, ints.dtype, shape));
      step->inputs.emplace(ints.name, to.buffer);
      step->given.push_back(&to);
      return OkStatus();
    };
    RETURN_IF_ERROR(add(form.ids, Shape{1, length}, step->ids));
    RETURN_IF_ERROR(add(form.mask, Shape{1, model().context}, step->mask));
    RETURN_IF_ERROR(add(form.last, Shape{1}, step->last));
    RETURN_IF_ERROR(add(form.all, Shape{1}, step->all));
    RETURN_IF_ERROR(add(form.positions, Shape{1, length}, step->positions));
    RETURN_IF_ERROR(add(form.kept_logits, Shape{}, step->kept));
    RETURN_IF_ERROR(add(form.row, Shape{1}, step->row));
    if (!form.kept_logits.name.empty()) SetInts(step->kept.host, [](int64_t) { return 0; });
    steps_.push_back(std::move(step));
    return steps_.back().get();
  }

  bool one_row_;  // as the form says, or as the first run shows: other threads have own caches
  std::vector<SharedBuffer> buffers_;
  runtime::BufferMap pasts_, presents_;
  std::vector<std::unique_ptr<Step>> steps_;
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

Status CopyTokens(const Tensor& from, Tensor& to, int64_t tokens) {
  const Shape &in = from.shape(), &out = to.shape();
  if (in[1] != out[1] || in[3] != out[3] || tokens > in[2] || tokens > out[2])
    return Error(StatusCode::kInternal, "caches {} and {} do not fit", in.ToString(),
                 out.ToString());
  const int64_t row = in[3] * ByteSize(from.dtype());
  for (int64_t head = 0; tokens > 0 && head < in[1]; ++head)
    std::memcpy(to.data() + head * out[2] * row, from.data() + head * in[2] * row, tokens * row);
  return OkStatus();
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
    RETURN_IF_ERROR(made->Allocate());
    return std::unique_ptr<OnnxCache>(std::move(made));
  }
  auto made = std::make_unique<GrowingCache>(std::move(model));
  RETURN_IF_ERROR(made->Empty());
  return std::unique_ptr<OnnxCache>(std::move(made));
}

}  // namespace fettle::language
