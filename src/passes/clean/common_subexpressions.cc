#include "passes/clean/common_subexpressions.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "ops/op.h"
#include "passes/edit/editor.h"
#include "passes/edit/equal_nodes.h"

namespace fettle::passes {
namespace {

uint64_t HashConstant(const Constant& constant) {
  if (constant.source() != nullptr) return reinterpret_cast<uintptr_t>(constant.source());
  return constant.raw_bytes().size() <= kComparedBytes
             ? constant.Hash()
             : reinterpret_cast<uintptr_t>(constant.raw_bytes().data());
}

template <typename T>
uint64_t HashItems(const std::vector<T>& items) {
  return HashBytes(std::as_bytes(std::span<const T>(items)), items.size());
}

struct AttributeHash {
  uint64_t operator()(int64_t i) const { return static_cast<uint64_t>(i) + 1; }
  uint64_t operator()(double d) const { return HashBytes(std::as_bytes(std::span(&d, 1)), 2); }
  uint64_t operator()(const std::string& text) const { return HashText(text, 3); }
  uint64_t operator()(const std::vector<int64_t>& items) const { return HashItems(items); }
  uint64_t operator()(const std::vector<double>& items) const { return HashItems(items) + 5; }
  uint64_t operator()(const std::vector<std::string>& items) const {
    uint64_t hash = 6;
    for (const std::string& item : items) hash = HashText(item, hash);
    return hash;
  }
  uint64_t operator()(const Constant& constant) const { return HashConstant(constant); }
  uint64_t operator()(const std::shared_ptr<const ir::Graph>& graph) const {
    return reinterpret_cast<uintptr_t>(graph.get());
  }
};

uint64_t HashNode(const ir::Node& node) {
  uint64_t hash = HashText(node.op, HashItems(node.inputs));
  for (const auto& [name, attribute] : node.attributes.items())
    hash = HashText(name, hash * 31 + std::visit(AttributeHash(), attribute));
  return hash;
}

bool SameNode(const ir::Node& a, const ir::Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs.size() == b.outputs.size() &&
         SameAttributes(a.attributes, b.attributes);
}

/// Nodes read one constant where there were several equal ones.
void MergeConstants(Editor& editor) {
  std::unordered_multimap<uint64_t, ir::ValueId> seen;
  IdVector<ir::ValueId, ir::ValueId> merged(editor.graph().values().size(), ir::kAbsent);
  for (ir::ValueId id : merged.ids()) {
    const ir::Value& value = editor.value(id);
    if (!value.is_constant() || editor.IsOutput(id) || editor.Readers(id).empty()) continue;
    const uint64_t hash = HashConstant(*value.constant);
    const auto [begin, end] = seen.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return SameConstant(*editor.value(entry.second).constant, *value.constant);
    });
    if (same == end) {
      seen.emplace(hash, id);
    } else {
      merged[id] = same->second;
    }
  }
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    for (size_t i = 0; i < editor.node(id).inputs.size(); ++i) {
      const ir::ValueId input = editor.node(id).inputs[i];
      if (input == ir::kAbsent || merged[input] == ir::kAbsent) continue;
      editor.SetInput(id, i, merged[input]);
    }
  }
}

bool MayMerge(const ir::Node& node) {
  if (node.dead || node.outputs.size() != 1 || node.op == "DequantizeLinear"_op) return false;
  return !node.op->Has(ir::Trait::kRandom) && !node.op->Has(ir::Trait::kControl);
}

}  // namespace

Result<bool> MergeCommonSubexpressions(ir::Graph& graph) {
  Editor editor(graph);
  MergeConstants(editor);
  std::unordered_multimap<uint64_t, ir::NodeId> seen;
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    if (!MayMerge(editor.node(id))) continue;
    const uint64_t hash = HashNode(editor.node(id));
    const auto [begin, end] = seen.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return SameNode(editor.node(entry.second), editor.node(id));
    });
    if (same == end) {
      seen.emplace(hash, id);
    } else {
      editor.Bypass(id, editor.node(same->second).outputs[0]);
    }
  }
  return editor.Finish();
}

}  // namespace fettle::passes
