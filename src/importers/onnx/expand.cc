// What nests: attributes that refer to a caller, sub-graphs and their captures, and model-local
// functions, which are expanded where they are called.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "importers/onnx/attribute.h"
#include "importers/onnx/builder.h"
#include "importers/onnx/order.h"
#include "importers/onnx/report.h"

namespace fettle::onnx {
namespace {

std::string FunctionName(const FunctionRecord& function) {
  return function.domain.empty() ? std::string(function.name)
                                 : fmt::format("{}.{}", function.domain, function.name);
}

/// "a.F -> a.G -> a.F".
std::string CallChain(const FunctionRecord& function, const Frame& frame) {
  std::string chain = FunctionName(function);
  for (const Frame* at = &frame; at != nullptr && at->function != nullptr; at = at->caller) {
    chain = FunctionName(*at->function) + " -> " + chain;
    if (at->function == &function) break;
  }
  return chain;
}

std::vector<std::string_view> OutputNames(const GraphRecord& graph) {
  std::vector<std::string_view> names;
  for (const NamedRecord& output : graph.outputs) names.push_back(output.name);
  return names;
}

/// Whether none of the values is refused.
bool HasAll(Scope& scope, const std::vector<std::string_view>& names) {
  return std::ranges::all_of(names, [&](std::string_view name) {
    const Binding* binding = scope.Find(name);
    return binding != nullptr && binding->refused.ok();
  });
}

}  // namespace

Status GraphBuilder::Spend(size_t bytes) {
  if (bytes > budget_)
    return InvalidModel("the functions and sequences of the model expand to too much data");
  budget_ -= bytes;
  return OkStatus();
}

Result<ir::Attribute> GraphBuilder::ReadAttribute(const AttributeRecord& record,
                                                  const Frame& frame) {
  if (frame.function == nullptr) return DecodeAttribute(record, owner_, external_);
  // The body of a function is imported once per call: its tensors are decoded once.
  const auto known = function_tensors_.find(record.body.data());
  if (known != function_tensors_.end()) return known->second;
  RETURN_IF_ERROR(Spend(record.body.size()));
  Result<ir::Attribute> value = DecodeAttribute(record, owner_, external_);
  if (value.ok() && std::holds_alternative<Constant>(*value))
    function_tensors_.emplace(record.body.data(), *value);
  return value;
}

Result<AttributeMap> GraphBuilder::ReadAttributes(const NodeRecord& node, const Frame& frame) {
  AttributeMap attributes;
  for (const AttributeRecord& record : node.attributes) {
    if (record.graph != nullptr) continue;
    if (record.ref_name.empty()) {
      ASSIGN_OR_RETURN(ir::Attribute value, ReadAttribute(record, frame));
      if (!attributes.emplace(record.name, std::move(value)).second)
        return InvalidModel("attribute '{}': is listed twice", record.name);
      continue;
    }
    if (frame.attributes == nullptr) {
      return InvalidModel("attribute '{}': refers to '{}' of a function, outside of any function",
                          record.name, record.ref_name);
    }
    const auto it = frame.attributes->find(record.ref_name);
    if (it == frame.attributes->end()) continue;  // the caller left it out, and so do we
    RETURN_IF_ERROR(Spend(record.body.size()));
    attributes.emplace(record.name, it->second);
  }
  return attributes;
}

/// The sub-graphs of one node while what they capture is still being put together.
struct GraphBuilder::SubGraphs {
  struct Branch {
    std::string_view attribute;
    std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
    std::unordered_map<ir::ValueId, ir::ValueId> captures;  // outside, inside
  };
  std::vector<Branch> branches;
  std::vector<ir::ValueId> outer;  // all captured values, in order, once each
  std::unordered_set<ir::ValueId> seen;

  void Add(Branch branch, const std::vector<Scope::Capture>& captures) {
    for (const Scope::Capture& capture : captures) {
      branch.captures.emplace(capture.outer, capture.inner);
      if (seen.insert(capture.outer).second) outer.push_back(capture.outer);
    }
    branches.push_back(std::move(branch));
  }

  /// Gives each branch one more input per captured value, whether it reads it or not.
  void AddCaptureInputs(const ir::Graph& parent) {
    for (Branch& branch : branches) {
      for (ir::ValueId id : outer) {
        const auto it = branch.captures.find(id);
        branch.graph->inputs.push_back(
            it != branch.captures.end() ? it->second : branch.graph->AddValue(parent.value(id)));
      }
    }
  }
};

Status GraphBuilder::ImportSubGraphs(const NodeRecord& node, const Frame& frame, Scope* scope,
                                     ops::NeutralNode* neutral) {
  SubGraphs subs;
  bool complete = true;
  for (const AttributeRecord& record : node.attributes) {
    if (record.graph == nullptr) continue;
    if (!record.ref_name.empty())
      return Unsupported("attribute '{}': a graph by reference is not supported", record.name);
    SubGraphs::Branch branch{.attribute = record.name};
    branch.graph->name = record.graph->name;
    Scope inner(branch.graph.get(), scope);
    Frame inner_frame = frame;
    if (++inner_frame.depth > kMaxDepth)
      return InvalidModel("sub-graphs and functions nest more than {} deep", kMaxDepth);
    const auto import = [&]() -> Status {
      RETURN_IF_ERROR(AddInitializers(*record.graph, /*is_main=*/false, &inner));
      RETURN_IF_ERROR(AddInputs(*record.graph, /*is_main=*/false, &inner));
      RETURN_IF_ERROR(
          ImportNodes(record.graph->nodes, OutputNames(*record.graph), inner_frame, &inner));
      return AddOutputs(*record.graph, /*is_main=*/false, ReportOf(frame), &inner);
    };
    const Status status = import();
    if (!status.ok()) return status.WithContext(fmt::format("attribute '{}'", record.name));
    complete = complete && HasAll(inner, OutputNames(*record.graph));
    subs.Add(std::move(branch), inner.captures());
  }
  if (!complete) return AlreadyReported();
  if (subs.branches.empty()) return OkStatus();
  subs.AddCaptureInputs(scope->graph());
  for (SubGraphs::Branch& branch : subs.branches) {
    RETURN_IF_ERROR(branch.graph->Normalise());
    RETURN_IF_ERROR(ir::Verify(*branch.graph));
    neutral->attributes.Set(branch.attribute, std::shared_ptr<const ir::Graph>(branch.graph));
  }
  neutral->inputs.insert(neutral->inputs.end(), subs.outer.begin(), subs.outer.end());
  neutral->attributes.Set("captures", static_cast<int64_t>(subs.outer.size()));
  return OkStatus();
}

const FunctionRecord* GraphBuilder::FindFunction(const NodeRecord& node) const {
  const auto it = functions_.find(Key{node.domain, node.op_type, node.overload});
  return it == functions_.end() ? nullptr : it->second;
}

Status GraphBuilder::CheckCall(const FunctionRecord& function, const Frame& frame) {
  for (const Frame* at = &frame; at != nullptr && at->function != nullptr; at = at->caller) {
    if (at->function == &function)
      return InvalidModel("function {} calls itself: {}", FunctionName(function),
                          CallChain(function, frame));
  }
  if (frame.depth >= kMaxDepth)
    return InvalidModel("sub-graphs and functions nest more than {} deep", kMaxDepth);
  return OkStatus();
}

Status GraphBuilder::BindArguments(const FunctionRecord& function, const NodeRecord& node,
                                   Scope* outer, Scope* inner) {
  if (node.inputs.size() > function.inputs.size()) {
    return InvalidModel("function {} takes {} inputs, got {}", FunctionName(function),
                        function.inputs.size(), node.inputs.size());
  }
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    Binding binding;
    if (i < node.inputs.size() && !node.inputs[i].empty()) {
      const Binding* actual = outer->Find(node.inputs[i]);
      if (actual == nullptr) {
        return InvalidModel(
            "input {} '{}': no graph input, initialiser or node output has this name", i,
            node.inputs[i]);
      }
      binding = *actual;
    }
    if (!inner->Define(function.inputs[i], std::move(binding)))
      return InvalidModel("function {}: input '{}' is listed twice", FunctionName(function),
                          function.inputs[i]);
  }
  return OkStatus();
}

Status GraphBuilder::BindResults(const FunctionRecord& function, const NodeRecord& node,
                                 const Frame& frame, ir::ValueId first_inner, Scope* outer,
                                 Scope* inner) {
  if (node.outputs.size() > function.outputs.size()) {
    return InvalidModel("function {} has {} outputs, the node names {}", FunctionName(function),
                        function.outputs.size(), node.outputs.size());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Binding* result = inner->Find(function.outputs[i]);
    if (result == nullptr || result->id == ir::kAbsent) {
      return InvalidModel("function {}: output '{}' is never written", FunctionName(function),
                          function.outputs[i]);
    }
    if (result->id >= first_inner)  // and not an argument that is passed through
      outer->graph().value(result->id).name = frame.prefix + std::string(node.outputs[i]);
    if (!outer->Define(node.outputs[i], *result))
      return InvalidModel("output {} '{}': a graph input or initialiser has this name", i,
                          node.outputs[i]);
  }
  return OkStatus();
}

Status GraphBuilder::ExpandFunction(const FunctionRecord& function, const NodeRecord& node,
                                    size_t index, const Frame& frame, Scope* scope) {
  RETURN_IF_ERROR(CheckCall(function, frame));
  for (const AttributeRecord& record : node.attributes) {
    if (record.graph != nullptr)
      return InvalidModel("attribute '{}': functions take no graphs", record.name);
  }
  ASSIGN_OR_RETURN(AttributeMap attributes, ReadAttributes(node, frame));
  for (const AttributeRecord& record : function.defaults) {
    if (attributes.contains(record.name)) continue;
    ASSIGN_OR_RETURN(ir::Attribute value, ReadAttribute(record, frame));
    attributes.emplace(record.name, std::move(value));
  }
  Frame inner_frame{.opsets = &function.opsets,
                    .caller = &frame,
                    .function = &function,
                    .attributes = &attributes,
                    .index = frame.index >= 0 ? frame.index : static_cast<int>(index),
                    .depth = frame.depth + 1};
  inner_frame.prefix = frame.prefix + LabelOf(node, index) + "/";
  for (const NodeRecord& body : function.nodes)
    RETURN_IF_ERROR(Spend((1 + body.outputs.size()) * (inner_frame.prefix.size() + 64)));
  Scope inner(&scope->graph(), nullptr);
  RETURN_IF_ERROR(BindArguments(function, node, scope, &inner));
  const auto first_inner = static_cast<ir::ValueId>(scope->graph().values().size());
  inner_frame.needed = frame.needed;
  RETURN_IF_ERROR(ImportNodes(function.nodes, function.outputs, inner_frame, &inner));
  return BindResults(function, node, frame, first_inner, scope, &inner);
}

}  // namespace fettle::onnx
