// What a graph has before its nodes are read, and what it gives: initialisers, inputs, outputs.
#include <algorithm>
#include <unordered_set>

#include "importers/onnx/attribute.h"
#include "importers/onnx/builder.h"
#include "importers/onnx/proto.h"
#include "importers/onnx/tensor_data.h"

namespace fettle::onnx {

std::unordered_set<std::string_view> GraphBuilder::OverriddenInitializers() const {
  std::unordered_set<std::string_view> names(options_.overridden.begin(),
                                             options_.overridden.end());
  const auto is_input = [&](std::string_view name) {
    return std::ranges::any_of(model_.graph.inputs,
                               [&](const NamedRecord& input) { return input.name == name; });
  };
  std::erase_if(names, [&](std::string_view name) { return !is_input(name); });
  return names;
}

Status GraphBuilder::AddInitializers(const GraphRecord& record, bool is_main, Scope* scope) {
  const std::unordered_set<std::string_view> overridden =
      is_main ? OverriddenInitializers() : std::unordered_set<std::string_view>();
  if (record.has_sparse_initializers) report_.AddOther("sparse initialisers are not supported");
  for (const NamedRecord& initializer : record.initializers) {
    if (initializer.name.empty()) return InvalidModel("an initialiser has no name");
    if (overridden.contains(initializer.name)) continue;
    const std::string context = fmt::format("initialiser '{}'", initializer.name);
    Result<Constant> constant = DecodeTensor(initializer.body, owner_, external_);
    Binding binding;
    if (constant.ok()) {
      binding.id = scope->graph().AddConstant(std::string(initializer.name), *constant);
    } else if (constant.status().code() == StatusCode::kUnsupported) {
      binding = scope->Refuse(constant.status().WithContext(context));
    } else {
      return constant.status().WithContext(context);
    }
    if (!scope->Define(initializer.name, std::move(binding)))
      return InvalidModel("{}: is listed twice", context);
  }
  return OkStatus();
}

Status GraphBuilder::AddInputs(const GraphRecord& record, bool is_main, Scope* scope) {
  std::unordered_set<std::string_view> initializers;
  if (is_main) {
    for (const NamedRecord& initializer : record.initializers)
      initializers.insert(initializer.name);
    for (std::string_view name : OverriddenInitializers()) initializers.erase(name);
  }
  std::unordered_set<std::string_view> seen;
  for (const NamedRecord& input : record.inputs) {
    if (input.name.empty()) return InvalidModel("a graph input has no name");
    const std::string context = fmt::format("input '{}'", input.name);
    if (!seen.insert(input.name).second) return InvalidModel("{}: is listed twice", context);
    if (initializers.contains(input.name)) continue;  // a default that nobody overrides
    Result<ir::Value> value = DecodeValueInfo(input);
    Binding binding;
    if (value.ok()) {
      binding.id = scope->graph().AddValue(*value);
      scope->graph().inputs.push_back(binding.id);
      if (is_main) given_.insert(binding.id);
    } else if (value.status().code() == StatusCode::kUnsupported) {
      // Reported where something reads it: one that nothing reads need not be given.
      binding = scope->Refuse(value.status().WithContext(context));
    } else {
      return value.status().WithContext(context);
    }
    if (!scope->Define(input.name, std::move(binding)))
      return InvalidModel("{}: an initialiser has the same name", context);
  }
  return OkStatus();
}

std::vector<std::string_view> GraphBuilder::AskedFor() const {
  if (!options_.outputs.empty()) return {options_.outputs.begin(), options_.outputs.end()};
  std::vector<std::string_view> names;
  for (const NamedRecord& output : model_.graph.outputs) names.push_back(output.name);
  return names;
}

bool GraphBuilder::IsAskedFor(std::string_view output) const {
  return options_.outputs.empty() ||
         std::ranges::find(options_.outputs, output) != options_.outputs.end();
}

std::vector<std::string> GraphBuilder::LeftOut() const {
  std::vector<std::string> lines;
  if (!unneeded_.empty())
    lines.push_back(fmt::format("left out, as no output needs it: {}", unneeded_.Text()));
  for (const std::string& output : left_out_) {
    lines.push_back(
        fmt::format("output '{}' is left out: an unsupported operator leads to it, and "
                    "other outputs were asked for",
                    output));
  }
  return lines;
}

bool GraphBuilder::IsLookedAt(const Frame& frame, const Scope& scope) const {
  return options_.unsupported_are_inputs && frame.needed && &scope.graph() == main_;
}

void GraphBuilder::IndexDescriptions() {
  for (std::string_view body : model_.graph.value_infos) {
    std::string_view described;
    const Status read = ForEachField(body, "value", [&](auto& field) {
      if (field.tag_and_type() == BytesField(1)) {
        described = View(field);
      } else {
        field.skip();
      }
      return OkStatus();
    });
    descriptions_.emplace(read.ok() ? described : "", body);
  }
}

ir::Value GraphBuilder::Described(std::string_view name) {
  if (descriptions_.empty()) IndexDescriptions();
  if (const auto found = descriptions_.find(name); found != descriptions_.end()) {
    Result<ir::Value> value = DecodeValueInfo({name, found->second});
    if (value.ok() && value->dtype != DType::kUndefined) return *std::move(value);
  }
  return {.dtype = DType::kF32};
}

Binding GraphBuilder::Missing(std::string_view name, const Frame& frame, Scope* scope) {
  if (!IsLookedAt(frame, *scope)) return scope->Refuse(AlreadyReported());
  ir::Value value = Described(name);
  value.name = frame.prefix + std::string(name);
  ir::Graph& graph = scope->graph();
  Binding binding{.id = graph.AddValue(std::move(value))};
  graph.inputs.push_back(binding.id);
  given_.insert(binding.id);
  return binding;
}

void GraphBuilder::KeepOperands(const NodeRecord& node, Scope* scope) {
  ir::Graph& graph = scope->graph();
  for (std::string_view name : node.inputs) {
    const Binding* binding = name.empty() ? nullptr : scope->Find(name);
    if (binding == nullptr || !binding->refused.ok() || binding->id == ir::kAbsent) continue;
    const bool is_known = graph.value(binding->id).is_constant() || given_.contains(binding->id);
    if (!is_known && kept_.insert(binding->id).second) graph.outputs.push_back(binding->id);
  }
}

Status GraphBuilder::AddOutputs(const GraphRecord& record, bool is_main, UnsupportedReport& report,
                                Scope* scope) {
  if (is_main && record.outputs.empty()) return InvalidModel("the graph has no outputs");
  std::unordered_set<std::string_view> seen;
  for (const NamedRecord& output : record.outputs) {
    if (output.name.empty()) return InvalidModel("a graph output has no name");
    const std::string context = fmt::format("output '{}'", output.name);
    if (is_main && !seen.insert(output.name).second) continue;  // results go by name
    const Binding* binding = scope->Find(output.name);
    if (is_main && !IsAskedFor(output.name) && binding != nullptr && !binding->refused.ok()) {
      left_out_.emplace_back(output.name);
      continue;
    }
    const Status status = AddOutput(output, is_main, report, scope);
    if (!status.ok()) return status.WithContext(context);
  }
  return OkStatus();
}

Status GraphBuilder::AddOutput(const NamedRecord& record, bool is_main, UnsupportedReport& report,
                               Scope* scope) {
  const Binding* binding = scope->Find(record.name);
  if (binding == nullptr || binding->id == ir::kAbsent) return InvalidModel("is never written");
  const std::string context = fmt::format("output '{}'", record.name);
  if (!binding->refused.ok() && !binding->refused.message().empty())
    report.AddOther(binding->refused.WithContext(context).message());
  ir::Graph& graph = scope->graph();
  Result<ir::Value> declared = DecodeValueInfo(record);
  if (!declared.ok()) {
    if (declared.status().code() != StatusCode::kUnsupported) return declared.status();
    report.AddOther(declared.status().WithContext(context).message());
    graph.outputs.push_back(binding->id);
    return OkStatus();
  }
  ir::ValueId id = binding->id;
  if (is_main && binding->refused.ok() && graph.value(id).name != record.name) {
    // The value has another name already (a pass-through): the output gets a value of its own.
    ir::Node node{.op = "Identity"_op, .name = std::string(record.name)};
    node.inputs = {id};
    id = graph.AddValue({.name = std::string(record.name)});
    node.outputs = {id};
    graph.AddNode(std::move(node));
  }
  ir::Value& value = graph.value(id);
  if (value.dtype == DType::kUndefined && !value.shape.has_value()) {
    value.dtype = declared->dtype;
    value.shape = declared->shape;
    value.symbols = declared->symbols;
  }
  // One that leads to an unsupported operator may be there already (KeepOperands).
  if (!is_main || !kept_.contains(id)) graph.outputs.push_back(id);
  return OkStatus();
}

}  // namespace fettle::onnx
