#include "importers/onnx/scope.h"

namespace fettle::onnx {

bool Scope::Define(std::string_view name, Binding binding) {
  return names_.emplace(name, std::move(binding)).second;
}

Binding Scope::Refuse(Status reason) { return {graph_->AddValue({}), std::move(reason)}; }

ir::ValueId Scope::CopyFromParent(ir::ValueId outer) {
  const auto [it, added] = captured_.emplace(outer, ir::kAbsent);
  if (!added) return it->second;
  it->second = graph_->AddValue(parent_->graph_->value(outer));
  if (!graph_->value(it->second).is_constant()) captures_.push_back({outer, it->second});
  return it->second;
}

const Binding* Scope::Find(std::string_view name) {
  const auto it = names_.find(name);
  if (it != names_.end()) return &it->second;
  if (parent_ == nullptr) return nullptr;
  const Binding* outer = parent_->Find(name);
  if (outer == nullptr) return nullptr;

  Binding inner = *outer;
  if (!outer->refused.ok()) {
    inner = Refuse(outer->refused);
  } else if (outer->id != ir::kAbsent) {
    inner.id = CopyFromParent(outer->id);
  }
  return &names_.emplace(name, std::move(inner)).first->second;
}

}  // namespace fettle::onnx
