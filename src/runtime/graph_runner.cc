#include "runtime/graph_runner.h"

#include <algorithm>

#include "base/hash.h"
#include "runtime/near_stages.h"
#include "runtime/stage.h"

namespace fettle::runtime {

TensorTypes TypesOf(std::span<const Tensor> tensors) {
  TensorTypes types;
  for (const Tensor& tensor : tensors) types.emplace_back(tensor.dtype(), tensor.shape());
  return types;
}

bool SameTypes(std::span<const Tensor> tensors, const TensorTypes& types) {
  return std::equal(tensors.begin(), tensors.end(), types.begin(), types.end(),
                    [](const Tensor& tensor, const auto& type) {
                      return tensor.dtype() == type.first && tensor.shape() == type.second;
                    });
}

StageCache::StageCache(std::shared_ptr<const ir::Graph> graph, std::vector<bool> pinned)
    : graph_(std::move(graph)), pinned_(std::move(pinned)) {
  if (std::ranges::find(pinned_, true) == pinned_.end())
    near_ = std::make_unique<NearStages>(graph_);
}

StageCache::~StageCache() = default;

Result<Stage*> StageCache::Get(std::span<const Tensor> inputs, Context& context) {
  if (last_ != nullptr && SameTypes(inputs, last_types_)) return last_;
  last_ = nullptr;
  ASSIGN_OR_RETURN(Stage * stage, Find(inputs, context));
  if (std::find(pinned_.begin(), pinned_.end(), true) != pinned_.end()) return stage;
  last_ = stage;
  last_types_ = TypesOf(inputs);
  return stage;
}

Result<Stage*> StageCache::Find(std::span<const Tensor> inputs, Context& context) {
  std::string key;
  for (size_t i = 0; i < inputs.size(); ++i) {
    key += fmt::format("{}:{}", DTypeName(inputs[i].dtype()), inputs[i].shape().ToString());
    if (i < pinned_.size() && pinned_[i])
      key += fmt::format("={:016x}", HashBytes(inputs[i].bytes()));
    key += ';';
  }
  Entry& entry = entries_[key];
  entry.last_use = ++uses_;
  if (entry.stage != nullptr) return entry.stage.get();

  Result<std::unique_ptr<Stage>> stage = Make(inputs, context);
  if (!stage.ok()) {
    entries_.erase(key);
    return stage.status();
  }
  entry.stage = std::move(stage).value();
  if (static_cast<int>(entries_.size()) > context.max_preparations) {
    auto oldest = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.last_use < oldest->second.last_use) oldest = it;
    }
    if (near_ != nullptr) near_->TakeApart(std::move(oldest->second.stage));
    entries_.erase(oldest);
  }
  return entry.stage.get();
}

Result<std::unique_ptr<Stage>> StageCache::Make(std::span<const Tensor> inputs, Context& context) {
  if (near_ != nullptr) {
    std::unique_ptr<Stage> stage = near_->Find(inputs, context, passes_);
    if (stage != nullptr) return stage;
  }
  ir::Graph graph = *graph_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ir::Value& value = graph.value(graph.inputs[i]);
    value.dtype = inputs[i].dtype();
    value.shape = inputs[i].shape();
    if (i < pinned_.size() && pinned_[i]) {
      // The stage outlives the run, so it needs bytes of its own.
      ASSIGN_OR_RETURN(Tensor copy, Constant::FromTensor(inputs[i]).ToTensor());
      value.constant = std::make_shared<const Constant>(Constant::FromTensor(copy));
    }
  }
  return Stage::Prepare(std::move(graph), context, passes_);
}

GraphRunner::GraphRunner(std::shared_ptr<const ir::Graph> graph, Context& context)
    : context_(context), stages_(std::move(graph), {}) {}

GraphRunner::~GraphRunner() = default;

Status GraphRunner::Prepare(std::span<const Tensor> inputs) {
  return stages_.Get(inputs, context_).status();
}

Result<bool> GraphRunner::CanBind(std::span<const Tensor> inputs, const Bindings& bindings) {
  ASSIGN_OR_RETURN(Stage * stage, stages_.Get(inputs, context_));
  return stage->Bind(inputs, bindings, context_);
}

Result<std::vector<Tensor>> GraphRunner::Run(std::span<const Tensor> inputs,
                                             const Bindings& bindings) {
  ASSIGN_OR_RETURN(Stage * stage, stages_.Get(inputs, context_));
  return stage->Run(inputs, context_, bindings);
}

}  // namespace fettle::runtime
