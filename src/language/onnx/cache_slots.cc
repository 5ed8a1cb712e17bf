#include "language/onnx/cache_slots.h"

#include <algorithm>
#include <cstring>

namespace fettle::language {

CacheSlots::CacheSlots(const OnnxForm& form, int64_t context, int64_t count,
                       std::shared_ptr<const Device> device)
    : form_(form), context_(context), count_(count), device_(std::move(device)), taken_(count) {}

Result<std::shared_ptr<CacheSlots>> CacheSlots::Create(const OnnxForm& form, int64_t context,
                                                       int64_t count,
                                                       std::shared_ptr<const Device> device) {
  std::shared_ptr<CacheSlots> slots(new CacheSlots(form, context, count, std::move(device)));
  RETURN_IF_ERROR(slots->Allocate());
  return slots;
}

Status CacheSlots::Allocate() {
  for (const OnnxCacheForm& cache : form_.caches) {
    const Shape shape = {count_, cache.heads, context_, cache.size};
    ASSIGN_OR_RETURN(CacheBuffers made, MakeCache(device_, cache.dtype, shape));
    pasts_.emplace(cache.past, made.past);
    presents_.emplace(cache.present, std::move(made.present));
    buffers_.push_back(std::move(made.past));
  }
  return OkStatus();
}

int64_t CacheSlots::Take() {
  const std::lock_guard lock(mutex_);
  const auto free = std::ranges::find(taken_, false);
  if (free == taken_.end()) return -1;
  *free = true;
  return free - taken_.begin();
}

void CacheSlots::Give(int64_t slot) {
  const std::lock_guard lock(mutex_);
  taken_[slot] = false;
}

Result<std::vector<Tensor>> CacheSlots::Read(int64_t slot) const {
  std::vector<Tensor> all;
  for (const SharedBuffer& buffer : buffers_) {
    if (buffer->device() != nullptr) {
      ASSIGN_OR_RETURN(all.emplace_back(), buffer->ReadToHost());
      continue;
    }
    const Tensor& tensor = buffer->host();
    const Shape& shape = tensor.shape();
    const int64_t each = StorageBytes(tensor.dtype(), shape.elements()) / count_;
    all.push_back(Tensor::Borrow(tensor.dtype(), Shape{1, shape[1], shape[2], shape[3]},
                                 tensor.data() + slot * each, tensor.storage()));
  }
  return all;
}

Status CacheSlots::Write(const std::vector<Tensor>& caches, int64_t slot, int64_t tokens) {
  if (device_ != nullptr) {
    for (size_t i = 0; i < caches.size(); ++i)
      RETURN_IF_ERROR(buffers_[i]->WriteFromHost(caches[i]));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(std::vector<Tensor> own, Read(slot));
  for (size_t i = 0; i < caches.size(); ++i) RETURN_IF_ERROR(CopyTokens(caches[i], own[i], tokens));
  return OkStatus();
}

Result<CacheSlots::Step*> CacheSlots::StepOf(int64_t batch, int64_t length) {
  for (const auto& step : steps_)
    if (step->batch == batch && step->length == length) return step.get();
  auto step = std::make_unique<Step>();
  step->batch = batch;
  step->length = length;
  step->inputs = pasts_;
  step->outputs = presents_;
  const auto add = [&](const OnnxInts& ints, const Shape& shape, BoundTensor& to) -> Status {
    if (ints.name.empty()) return OkStatus();
    ASSIGN_OR_RETURN(to, BoundTensor::Create(device_, ints.dtype, shape));
    step->inputs.emplace(ints.name, to.buffer);
    step->given.push_back(&to);
    return OkStatus();
  };
  RETURN_IF_ERROR(add(form_.ids, Shape{batch, length}, step->ids));
  RETURN_IF_ERROR(add(form_.mask, Shape{batch, context_}, step->mask));
  RETURN_IF_ERROR(add(form_.last, Shape{batch}, step->last));
  RETURN_IF_ERROR(add(form_.all, Shape{1}, step->all));
  RETURN_IF_ERROR(add(form_.positions, Shape{batch, length}, step->positions));
  RETURN_IF_ERROR(add(form_.kept_logits, Shape{}, step->kept));
  RETURN_IF_ERROR(add(form_.row, Shape{1}, step->row));
  RETURN_IF_ERROR(add(form_.cache_of, Shape{batch}, step->cache_of));
  if (!form_.kept_logits.name.empty()) SetInts(step->kept.host, [](int64_t) { return 0; });
  steps_.push_back(std::move(step));
  return steps_.back().get();
}

void CacheSlots::Fill(Step& step, std::span<const Part> parts) const {
  const int64_t length = step.length;
  const auto set = [&](const OnnxInts& ints, BoundTensor& to, auto value) {
    if (!ints.name.empty()) SetInts(to.host, value);
  };
  // What fills the run up lies behind its tokens: no query sees it, the next run overwrites it.
  set(form_.ids, step.ids, [&](int64_t i) {
    const std::span<const int32_t> tokens = parts[i / length].tokens;
    return tokens[std::min(i % length, std::ssize(tokens) - 1)];
  });
  set(form_.mask, step.mask,
      [&](int64_t i) { return i % context_ < parts[i / context_].position + length ? 1 : 0; });
  set(form_.last, step.last, [&](int64_t i) { return parts[i].position + length - 1; });
  set(form_.all, step.all, [&](int64_t) { return parts[0].all; });
  set(form_.positions, step.positions,
      [&](int64_t i) { return parts[i / length].position + i % length; });
  set(form_.row, step.row, [&](int64_t) { return std::ssize(parts[0].tokens) - 1; });
  set(form_.cache_of, step.cache_of, [&](int64_t i) { return parts[i].slot; });
}

Result<bool> CacheSlots::Run(runtime::Session& session, std::span<const Part> parts,
                             int64_t length) {
  const auto batch = std::ssize(parts);
  ASSIGN_OR_RETURN(Step* const step, StepOf(batch, length));
  Fill(*step, parts);
  for (BoundTensor* input : step->given) RETURN_IF_ERROR(input->Send());
  runtime::TensorMap others;
  RETURN_IF_ERROR(session.RunOn(step->inputs, step->outputs, &others));
  const auto made = others.find("logits");
  if (made == others.end()) return Error(StatusCode::kInternal, "there are no logits");
  const Shape& shape = made->second.shape();
  const int64_t rows = shape.rank() == 3 ? shape[1] : 0;
  const bool picks = !form_.row.name.empty();
  for (int64_t b = 0; b < batch; ++b) {
    const auto count = std::ssize(parts[b].tokens);
    if (rows == 1 && length > count && !picks) return false;
    RETURN_IF_ERROR(TakeRow(made->second, b * rows + (rows == 1 ? 0 : count - 1), parts[b].logits));
  }
  return true;
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

Status TakeRow(const Tensor& logits, int64_t row, std::span<float> to) {
  const auto size = std::ssize(to);
  const Shape& shape = logits.shape();
  if (shape.rank() != 3 || row < 0 || row >= shape[0] * shape[1] || shape[2] != size)
    return InvalidModel("output 'logits': {} for a vocabulary of {}", shape.ToString(), size);
  if (logits.dtype() == DType::kF32) {
    std::copy_n(logits.as<float>().data() + row * size, size, to.data());
    return OkStatus();
  }
  const HostView view = logits.view();
  for (int64_t i = 0; i < size; ++i) to[i] = static_cast<float>(view.GetDouble(row * size + i));
  return OkStatus();
}

}  // namespace fettle::language
