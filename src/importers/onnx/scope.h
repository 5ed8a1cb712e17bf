// The names that nodes see while they are imported.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/onnx/sequences.h"
#include "ir/graph.h"

namespace fettle::onnx {

/// What a name stands for.
struct Binding {
  ir::ValueId id = ir::kAbsent;  // kAbsent: an input that the caller of a function left out
  /// Not OK: the value cannot be had, for this reason (no message: it was reported already). `id`
  /// is then a value of no type that keeps the import going.
  Status refused;
  /// A sequence, which is refused as a tensor; not seen from sub-graphs.
  SharedSequence sequence;
};

/// One name space over one graph: the graph's own names, or those of a function body expanded into
/// it. A sub-graph's scope has the enclosing scope as its parent: what it finds there it captures.
/// Keeps views of the names.
class Scope {
 public:
  Scope(ir::Graph* graph, Scope* parent) : graph_(graph), parent_(parent) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  ir::Graph& graph() { return *graph_; }
  const ir::Graph& graph() const { return *graph_; }

  /// False where the name is taken in this scope.
  bool Define(std::string_view name, Binding binding);
  /// Whether the scope itself, and not a parent, has a value of this name.
  bool Has(std::string_view name) const { return names_.contains(name); }
  /// A binding to a new value that stands for one that cannot be had.
  Binding Refuse(Status reason);
  /// Looks here and in the parents. Constants of a parent are shared into this scope's graph; other
  /// values are captured.
  const Binding* Find(std::string_view name);

  struct Capture {
    ir::ValueId outer = ir::kAbsent;  // in the parent's graph
    ir::ValueId inner = ir::kAbsent;  // in this graph
  };
  const std::vector<Capture>& captures() const { return captures_; }

 private:
  /// The value of this graph that stands for one of the parent's.
  ir::ValueId CopyFromParent(ir::ValueId outer);

  ir::Graph* graph_;
  Scope* parent_;
  std::unordered_map<std::string_view, Binding> names_;
  std::vector<Capture> captures_;
  std::unordered_map<ir::ValueId, ir::ValueId> captured_;  // an outer value may have two names
};

}  // namespace fettle::onnx
