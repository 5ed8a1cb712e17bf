#include "importers/onnx/model_edit.h"

#include <protozero/pbf_writer.hpp>

#include "importers/onnx/proto.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx {
namespace {

constexpr size_t kMostBytes = (size_t{1} << 31) - 1;
constexpr int kIntAttribute = 2, kIntsAttribute = 7;  // AttributeProto.AttributeType

/// Calls `field(tag, whole, content)` for each field of `message`: with all of its bytes, and those
/// of its content where it has a length.
template <typename F>
Status ForEachRawField(std::string_view message, std::string_view what, F&& field) {
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    const char* begin = message.data();
    while (reader.next()) {
      std::string_view content;
      const auto tag = reader.tag_and_type();
      if (reader.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
        content = View(reader);
      } else {
        reader.skip();
      }
      const char* const end = reader.data().data();
      field(tag, std::string_view(begin, static_cast<size_t>(end - begin)), content);
      begin = end;
    }
    return OkStatus();
  } catch (const protozero::end_of_buffer_exception&) {
    return InvalidModel("{}not an ONNX model, or one that was cut off", PartPrefix(what));
  } catch (const protozero::exception&) {
    return InvalidModel("{}not an ONNX model", PartPrefix(what));
  }
}

void AddText(uint32_t tag, std::string_view text, std::string& to) {
  protozero::pbf_writer(to).add_bytes(tag, text.data(), text.size());
}

Result<std::string_view> TextField(std::string_view message, uint32_t tag, std::string_view what) {
  std::string_view text;
  RETURN_IF_ERROR(ForEachRawField(message, what, [&](auto field, auto, std::string_view content) {
    if (field == BytesField(tag)) text = content;
  }));
  return text;
}

/// Writes the operand at `position`, or what replaces it.
void AddOperand(uint32_t tag, std::string_view whole, size_t position,
                const std::map<size_t, std::string>& replaced, std::string& to) {
  const auto found = replaced.find(position);
  if (found == replaced.end()) {
    to += whole;
  } else {
    AddText(tag, found->second, to);
  }
}

void AddAttribute(std::string_view name, int64_t value, std::string& node) {
  std::string attribute;
  AddText(1, name, attribute);
  protozero::pbf_writer(attribute).add_int64(3, value);
  protozero::pbf_writer(attribute).add_enum(20, kIntAttribute);
  AddText(5, attribute, node);
}

Result<std::string> EditNode(std::string_view node, const NodeEdit& edit) {
  std::string edited;
  size_t inputs = 0, outputs = 0;
  Status status;
  RETURN_IF_ERROR(ForEachRawField(node, "node", [&](auto tag, auto whole, auto content) {
    if (tag == BytesField(1)) {
      AddOperand(1, whole, inputs++, edit.inputs, edited);
    } else if (tag == BytesField(2)) {
      AddOperand(2, whole, outputs++, edit.outputs, edited);
    } else if (tag == BytesField(5)) {
      const auto name = TextField(content, 1, "attribute");
      if (!name.ok()) status = name.status();
      if (!name.ok() ||
          (!edit.dropped_attributes.contains(*name) && !edit.attributes.contains(*name)))
        edited += whole;
    } else {
      edited += whole;
    }
  }));
  RETURN_IF_ERROR(status);
  for (auto it = edit.inputs.lower_bound(inputs); it != edit.inputs.end(); ++it) {
    for (; inputs < it->first; ++inputs) AddText(1, "", edited);
    AddText(1, it->second, edited);
    ++inputs;
  }
  for (const auto& [name, value] : edit.attributes) AddAttribute(name, value, edited);
  return edited;
}

class GraphWriter {
 public:
  explicit GraphWriter(const ModelEdit& edit) : edit_(edit) {}

  Result<std::string> Run(std::string_view graph) {
    if (edit_.drops_initialised_inputs) RETURN_IF_ERROR(FindInitialised(graph));
    Status status;
    RETURN_IF_ERROR(ForEachRawField(graph, "graph", [&](auto tag, auto whole, auto content) {
      if (status.ok()) status = Field(tag, whole, content);
    }));
    RETURN_IF_ERROR(status);
    for (const std::string& node : edit_.last_nodes) AddText(1, node, edited_);
    for (const std::string& tensor : edit_.initializers) AddText(5, tensor, edited_);
    return std::move(edited_);
  }

 private:
  Status FindInitialised(std::string_view graph) {
    Status status;
    RETURN_IF_ERROR(ForEachRawField(graph, "graph", [&](auto tag, auto, auto content) {
      if (tag != BytesField(5)) return;
      const auto name = TextField(content, 8, "initialiser");
      if (name.ok()) initialised_.emplace(*name);
      if (!name.ok()) status = name.status();
    }));
    return status;
  }

  Status Field(uint32_t tag, std::string_view whole, std::string_view content) {
    if (tag == BytesField(1)) return Node(whole, content);
    if (tag == BytesField(13) && edit_.drops_value_infos) return OkStatus();
    if (tag == BytesField(5) || tag == BytesField(11)) {
      ASSIGN_OR_RETURN(const std::string_view name,
                       TextField(content, tag == BytesField(5) ? 8 : 1, "tensor"));
      if (edit_.dropped_initializers.contains(name)) return OkStatus();
      if (tag == BytesField(11) && initialised_.contains(name)) return OkStatus();
    }
    edited_ += whole;
    return OkStatus();
  }

  Status Node(std::string_view whole, std::string_view content) {
    const auto found = edit_.nodes.find(nodes_++);
    if (found == edit_.nodes.end()) {
      edited_ += whole;
      return OkStatus();
    }
    for (const std::string& node : found->second.before) AddText(1, node, edited_);
    if (found->second.dropped) return OkStatus();
    ASSIGN_OR_RETURN(const std::string node, EditNode(content, found->second));
    AddText(1, node, edited_);
    return OkStatus();
  }

  const ModelEdit& edit_;
  std::set<std::string, std::less<>> initialised_;
  std::string edited_;
  size_t nodes_ = 0;
};

/// An OperatorSetIdProto of ai.onnx with another version; of other domains as it is.
Result<std::string> EditOpset(std::string_view opset, int64_t version) {
  ASSIGN_OR_RETURN(const std::string_view domain, TextField(opset, 1, "opset import"));
  if (!CanonicalDomain(domain).empty()) return std::string(opset);
  std::string edited;
  if (!domain.empty()) AddText(1, domain, edited);
  protozero::pbf_writer(edited).add_int64(2, version);
  return edited;
}

}  // namespace

Result<std::string> ApplyEdit(std::string_view model, const ModelEdit& edit) {
  std::string edited;
  edited.reserve(model.size());
  Status status;
  const auto add = [&](uint32_t tag, Result<std::string> content) {
    if (!content.ok()) {
      status = content.status();
    } else if (content->size() + edited.size() > kMostBytes) {
      status = Unsupported(
          "the model would exceed 2 GiB, the limit of an ONNX file without external data");
    } else {
      AddText(tag, *content, edited);
    }
  };
  RETURN_IF_ERROR(ForEachRawField(model, "model", [&](auto tag, auto whole, auto content) {
    if (!status.ok()) return;
    if (tag == BytesField(7)) {
      add(7, GraphWriter(edit).Run(content));
    } else if (tag == BytesField(8) && edit.opset != 0) {
      add(8, EditOpset(content, edit.opset));
    } else if (tag == VarintField(1) && edit.ir_version != 0) {
      protozero::pbf_writer(edited).add_int64(1, edit.ir_version);
    } else {
      edited += whole;
    }
  }));
  RETURN_IF_ERROR(status);
  return edited;
}

std::string WriteNode(const NewNode& node) {
  std::string bytes;
  for (const std::string& input : node.inputs) AddText(1, input, bytes);
  for (const std::string& output : node.outputs) AddText(2, output, bytes);
  if (!node.name.empty()) AddText(3, node.name, bytes);
  AddText(4, node.op_type, bytes);
  for (const auto& [name, value] : node.attributes) AddAttribute(name, value, bytes);
  for (const auto& [name, values] : node.lists) {
    std::string attribute;
    AddText(1, name, attribute);
    for (int64_t value : values) protozero::pbf_writer(attribute).add_int64(8, value);
    protozero::pbf_writer(attribute).add_enum(20, kIntsAttribute);
    AddText(5, attribute, bytes);
  }
  return bytes;
}

}  // namespace fettle::onnx
